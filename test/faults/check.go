package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
)

// checker looks for violations when everything is over.
type checker struct {
	s     *system
	r     *report
	load  *load
	x     *executor
	began time.Time

	requests map[string]*request
}

// violation is something that may never be.
type violation struct {
	Rule     string `json:"rule"`
	Request  string `json:"request,omitempty"`
	What     string `json:"what"`
	Evidence string `json:"evidence,omitempty"`
}

// check looks at everything. The order: what runs, while the services do; then
// what the services leave behind when they end; then what is stored.
func (c *checker) check(ctx context.Context) error {
	c.checkProcesses(ctx)
	c.verbCheck(ctx)
	for _, x := range append(append([]*service(nil), c.s.jrs...), c.s.rms...) {
		x.end(syscall.SIGTERM)
	}
	c.checkLeft(ctx)
	trace, err := readTrace(c.s.dir)
	if err != nil {
		return err
	}
	if c.requests, err = readRequests(ctx, c.s.db.look); err != nil {
		return err
	}
	for id, lines := range trace {
		if r := c.requests[id]; r != nil {
			r.trace = lines
		} else {
			c.violation("a job ran for a request that does not exist", nil, "%s", lines[0])
		}
	}
	c.checkWorks()
	for _, r := range c.requests {
		c.checkRequest(r)
		c.r.States[stateName(r.state)]++
	}
	c.r.Requests = len(c.requests)
	c.r.Jobs = countBegins(trace)
	c.checkLogs()
	return c.checkTables(ctx)
}

func countBegins(trace map[string][]line) (n int) {
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
func (c *checker) violation(rule string, r *request, format string, args ...any) {
	v := violation{Rule: rule, What: fmt.Sprintf(format, args...)}
	if r != nil {
		v.Request = r.id
		v.Evidence = c.evidence(r)
	}
	c.r.Violations = append(c.r.Violations, v)
}

// evidence is the life of a request: traces, entries, and the faults of its time,
// in order.
func (c *checker) evidence(r *request) string {
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
	for _, e := range c.x.done {
		from, to := e.Began.UnixNano(), e.Ended.UnixNano()
		if e.Skipped == "" && to > r.created*1000-around && from < end+around/3 {
			all = append(all,
				moment{from, fmt.Sprintf("%s FAULT %s %s", clock(from), e.Kind, e.Target)},
				moment{to, fmt.Sprintf("%s over: %s %s", clock(to), e.Kind, e.Target)})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return int(min(max(a.at-b.at, -1), 1)) })
	var text strings.Builder
	for _, m := range all {
		text.WriteString("    " + m.text + "\n")
	}
	return text.String()
}

// checkTables looks at the rows that must not be there when nothing is under way.
func (c *checker) checkTables(ctx context.Context) error {
	for what, query := range map[string]string{
		"requests that have not ended":                      "SELECT COUNT(*) FROM requests WHERE state NOT IN (3, 4, 6)",
		"suspended job chains":                              "SELECT COUNT(*) FROM suspended_job_chains",
		"ended requests without a finish time":              "SELECT COUNT(*) FROM requests WHERE state IN (3, 4, 6) AND finished_at IS NULL",
		"ended requests that a runner has":                  "SELECT COUNT(*) FROM requests WHERE state IN (3, 4, 6) AND runner_id IS NOT NULL",
		"ended requests without a reason that are not well": "SELECT COUNT(*) FROM requests WHERE state IN (4, 6) AND reason = ''",
		"requests without an archived chain":                "SELECT COUNT(*) FROM requests WHERE request_id NOT IN (SELECT request_id FROM request_archives)",
	} {
		n, err := count(ctx, c.s.db.look, query)
		if err != nil {
			return err
		}
		if n > 0 {
			c.violation("tables", nil, "%d %s", n, what)
		}
	}
	return nil
}
