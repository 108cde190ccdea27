package torture

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/request-manager/schedule/torture/audit"
)

// Report is what a test found. Durations are in nanoseconds.
type Report struct {
	Seed        uint64        `json:"seed"`
	Length      time.Duration `json:"length"`
	Members     int           `json:"members"`
	Jobs        int           `json:"jobs"`
	Scale       time.Duration `json:"scale"`
	Interrupted bool          `json:"interrupted"` // it ended early
	// Recovered is how long it took, after the last fault, until every job had
	// succeeded once more.
	Recovered time.Duration `json:"recovered"`
	audit.Figures
	Calls  int `json:"calls"`  // of hooks
	Shared int `json:"shared"` // instances that more than one process worked on
	// Longest is for how long a member that had been frozen went on at most, beside the
	// one that had taken over.
	Longest    time.Duration     `json:"longest"`
	Looks      int               `json:"looks"` // of the auditor, before the last
	Faults     map[Kind]int      `json:"faults"`
	Missed     int               `json:"missed"` // faults that were not done, since another one was going on
	Violations []audit.Violation `json:"violations"`
	Dir        string            `json:"dir"` // of logs and traces; removed if all was well
}

// maxShown is how many violations the text has.
const maxShown = 20

// String returns the report for a reader.
func (r *Report) String() string {
	var b strings.Builder
	end := ""
	if r.Interrupted {
		end = ", interrupted"
	}
	fmt.Fprintf(&b, "torture schedule: seed %d, %s of faults%s, %d members, %d jobs, scale %s\n", r.Seed, r.Length, end, r.Members, r.Jobs, r.Scale)
	fmt.Fprintf(&b, "instances: %d succeeded, %d failed; %d periods skipped\n", r.Succeeded, r.Failed, r.Skipped)
	fmt.Fprintf(&b, "undos: %d, and %d tries that failed; takeovers: %d; %d calls of hooks, %d instances had more than one process\n",
		r.Undos, r.UndoFailed, r.Takeovers, r.Calls, r.Shared)
	fmt.Fprintf(&b, "faults: %s; not done since another one was going on: %d\n", r.faults(), r.Missed)
	fmt.Fprintf(&b, "lateness of starts, faults and all waits included: p50 %s, p99 %s, max %s\n",
		round(r.Lateness.P50), round(r.Lateness.P99), round(r.Lateness.Max))
	if !r.Interrupted {
		fmt.Fprintf(&b, "every job had succeeded once more %s after the last fault\n", round(r.Recovered))
	}
	fmt.Fprintf(&b, "looks: %d and the last; members that had been frozen went on for %s at most, fenced\n", r.Looks, round(r.Longest))
	fmt.Fprintf(&b, "violations: %d\n", len(r.Violations))
	for _, v := range r.Violations[:min(len(r.Violations), maxShown)] {
		fmt.Fprintf(&b, "\nVIOLATION (%s) %s\n", v.Rule, v.What)
	}
	if n := len(r.Violations) - maxShown; n > 0 {
		fmt.Fprintf(&b, "... and %d more\n", n)
	}
	if len(r.Violations) > 0 {
		fmt.Fprintf(&b, "logs and traces are in %s\n", r.Dir)
	}
	return b.String()
}

func (r *Report) faults() string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(r.Faults)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, r.Faults[k]))
	}
	return strings.Join(parts, ", ")
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// checkLogs looks for what must not be in the logs of members.
func (t *test) checkLogs() {
	for _, m := range t.all() {
		log, err := os.ReadFile(filepath.Join(t.dir, m.name+".log"))
		if err != nil {
			continue // it never started
		}
		for _, bad := range []string{"panic: ", "WARNING: DATA RACE", "fatal error: "} {
			if at := bytes.Index(log, []byte(bad)); at >= 0 {
				t.audit.Violation("log of a member", "%s: %.2000s", m.name, log[at:])
			}
		}
	}
}
