package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/treadle-run/treadle/test/torture"
	"github.com/treadle-run/treadle/test/torture/schedule/audit"
)

// Report is what a test found. Durations are in nanoseconds.
type Report struct {
	torture.Report
	audit.Figures
	Members int           `json:"members"`
	Jobs    int           `json:"jobs"`
	Scale   time.Duration `json:"scale"`
	Calls   int           `json:"calls"`  // of hooks
	Shared  int           `json:"shared"` // instances that more than one process worked on
	// Longest is the longest time that a member which had been frozen went on beside the
	// one that had taken over.
	Longest time.Duration `json:"longest"`
	Looks   int           `json:"looks"` // of the auditor, before the last
}

// String returns the report for a reader.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d members, %d jobs, scale %s\n", r.Members, r.Jobs, r.Scale)
	fmt.Fprintf(&b, "instances: %d succeeded, %d failed; %d periods skipped\n", r.Succeeded, r.Failed, r.Skipped)
	fmt.Fprintf(&b, "undos: %d, and %d tries that failed; takeovers: %d; %d calls of hooks, %d instances had more than one process\n",
		r.Undos, r.UndoFailed, r.Takeovers, r.Calls, r.Shared)
	fmt.Fprintf(&b, "lateness of starts, faults and all waits included: p50 %s, p99 %s, max %s\n",
		round(r.Lateness.P50), round(r.Lateness.P99), round(r.Lateness.Max))
	fmt.Fprintf(&b, "looks: %d and the last; members that had been frozen went on for %s at the most, fenced\n", r.Looks, round(r.Longest))
	return r.Text(b.String(), "every job had succeeded once more")
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
