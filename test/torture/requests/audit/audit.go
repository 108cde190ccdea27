// Package audit checks what became of the requests of a torture test, when everything is
// over. It reads the database with SQL of its own and the lines that the jobs themselves
// wrote, and imports nothing of Treadle, so that it cannot share a mistake with what it
// checks.
//
// Times are Unix microseconds in the database, and Unix nanoseconds in traces.
package audit

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/test/torture"
)

// Asked is what clients asked for, and what they were told.
type Asked struct {
	Works []Work
	Odd   []string // answers that may not be
}

// Work is one thing that a client wanted done, once.
type Work struct {
	Key     string
	Kind    string   // type of the request
	IDs     []string // that it was accepted under: must be one
	Submits int      // calls that were made
	Stopped bool     // a stop was accepted
	Asked   bool     // a stop was asked for
}

// Figures are numbers for the report.
type Figures struct {
	Requests int            `json:"requests"`
	Accepted int            `json:"accepted"`
	Submits  int            `json:"submits"`
	Jobs     int            `json:"jobs"` // tries that started
	States   map[string]int `json:"states"`
}

// Audit looks for violations when everything is over.
type Audit struct {
	db       *sql.DB
	dir      string // of the trace
	events   []torture.Event
	asked    Asked
	found    *torture.Findings
	requests map[string]*request
	figures  Figures
}

// New returns an audit of a database and of the trace in dir, which adds to found.
func New(db *sql.DB, dir string, events []torture.Event, asked Asked, found *torture.Findings) *Audit {
	return &Audit{db: db, dir: dir, events: events, asked: asked, found: found, figures: Figures{States: map[string]int{}}}
}

// Check looks at everything. No service may run any more.
func (a *Audit) Check(ctx context.Context) (Figures, error) {
	trace, err := readTrace(a.dir)
	if err != nil {
		return Figures{}, err
	}
	if a.requests, err = readRequests(ctx, a.db); err != nil {
		return Figures{}, err
	}
	for id, lines := range trace {
		if r := a.requests[id]; r != nil {
			r.trace = lines
		} else {
			a.violation("a job ran for a request that does not exist", nil, "%s", lines[0])
		}
	}
	a.checkWorks()
	for _, r := range a.requests {
		a.checkRequest(r)
		a.figures.States[stateName(r.state)]++
	}
	a.figures.Requests = len(a.requests)
	a.figures.Jobs = countStarts(trace)
	return a.figures, a.checkTables(ctx)
}

func countStarts(trace map[string][]line) (n int) {
	for _, lines := range trace {
		for _, l := range lines {
			if l.what == 'B' {
				n++
			}
		}
	}
	return n
}

func stateName(state int) string {
	names := map[int]string{1: "PENDING", 2: "RUNNING", 3: "COMPLETE", 4: "FAIL", 6: "STOPPED", 7: "SUSPENDED"}
	return names[state]
}

// violation writes one down, with all that is known of its request.
func (a *Audit) violation(rule string, r *request, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if r != nil {
		what = fmt.Sprintf("request %s: %s\n%s", r.id, what, a.evidence(r))
	}
	a.found.Add(rule, "%s", what)
}

// evidence is the life of a request: traces, entries, and the faults of its time,
// in order.
func (a *Audit) evidence(r *request) string {
	type moment struct {
		at   int64
		text string
	}
	all := []moment{{r.created * 1000, fmt.Sprintf("%s request %s of type %s created, key %s", clock(r.created*1000), r.id, r.kind, r.tag)}}
	end := time.Now().UnixNano()
	if r.finished.Valid {
		end = r.finished.Int64 * 1000
		all = append(all, moment{end, fmt.Sprintf("%s request is %s under epoch %d: %s", clock(end), stateName(r.state), r.epoch, r.reason)})
	}
	for _, l := range r.trace {
		all = append(all, moment{l.at, l.String()})
	}
	for _, e := range r.log {
		all = append(all, moment{e.finished, e.String()})
	}
	const around = int64(15 * time.Second)
	for _, e := range a.events {
		from, to := e.Started.UnixNano(), e.Ended.UnixNano()
		if e.Skipped == "" && to > r.created*1000-around && from < end+around/3 {
			all = append(all,
				moment{from, fmt.Sprintf("%s FAULT %s %s", clock(from), e.Kind, e.Target)},
				moment{to, fmt.Sprintf("%s over: %s %s", clock(to), e.Kind, e.Target)})
		}
	}
	slices.SortStableFunc(all, func(x, y moment) int { return cmp.Compare(x.at, y.at) })
	var text strings.Builder
	for _, m := range all {
		text.WriteString("    " + m.text + "\n")
	}
	return text.String()
}

// checkTables looks at the rows that must not be there when nothing is under way.
func (a *Audit) checkTables(ctx context.Context) error {
	for what, query := range map[string]string{
		"requests that have not ended":                      "SELECT COUNT(*) FROM requests WHERE state NOT IN (3, 4, 6)",
		"suspended job chains":                              "SELECT COUNT(*) FROM suspended_job_chains",
		"ended requests without a finish time":              "SELECT COUNT(*) FROM requests WHERE state IN (3, 4, 6) AND finished_at IS NULL",
		"ended requests that a runner has":                  "SELECT COUNT(*) FROM requests WHERE state IN (3, 4, 6) AND runner_id IS NOT NULL",
		"ended requests without a reason that are not well": "SELECT COUNT(*) FROM requests WHERE state IN (4, 6) AND reason = ''",
		"requests without an archived chain":                "SELECT COUNT(*) FROM requests WHERE request_id NOT IN (SELECT request_id FROM request_archives)",
	} {
		n, err := count(ctx, a.db, query)
		if err != nil {
			return err
		}
		if n > 0 {
			a.violation("tables", nil, "%d %s", n, what)
		}
	}
	return nil
}
