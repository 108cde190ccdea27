package requests

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/test/torture"
	"github.com/treadle-run/treadle/test/torture/requests/audit"
)

// Report is what a test found.
type Report struct {
	torture.Report
	audit.Figures
	Waited int `json:"waited"` // times that the load waited, since too much was under way
	// Recovery has how long all requests of a fault took to go on.
	Recovery   map[string]torture.Times `json:"recovery"`
	Slow       []Slow                   `json:"slow"`
	Unfollowed int                      `json:"unfollowed"` // faults of which some had not gone on
	Errors     map[string]int           `json:"errors"`     // of the logs of services
	Check      string                   `json:"check"`      // what `treadle check` said
}

func (s *system) newReport(l *load, w *watch) *Report {
	r := &Report{
		Report: torture.Report{Workload: "requests", Database: s.o.DB, Seed: s.o.Seed, Length: s.o.For, Dir: s.dir},
		Waited: l.held, Recovery: map[string]torture.Times{}, Unfollowed: len(w.follows), Slow: w.slow,
	}
	var all []time.Duration
	for what, ds := range w.times {
		r.Recovery[what] = torture.InShort(ds)
		all = append(all, ds...)
	}
	r.Recovery["all"] = torture.InShort(all)
	return r
}

// String returns the report for a reader.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "requests: %d (%d accepted in %d calls; the load waited %d times); tries of jobs: %d\n",
		r.Requests, r.Accepted, r.Submits, r.Waited, r.Jobs)
	fmt.Fprintf(&b, "states: %s\n", torture.Counts(r.States))
	b.WriteString("recovery, from the fault until all its requests went on:\n")
	for _, what := range slices.Sorted(maps.Keys(r.Recovery)) {
		t := r.Recovery[what]
		fmt.Fprintf(&b, "  %-28s n=%-4d p50 %-8s p99 %-8s max %s\n", what, t.N,
			t.P50.Round(10*time.Millisecond), t.P99.Round(10*time.Millisecond), t.Max.Round(10*time.Millisecond))
	}
	if len(r.Errors) > 0 {
		fmt.Fprintf(&b, "errors in logs: %s\n", torture.Counts(r.Errors))
	}
	b.WriteString("tries side by side are found by locks that all processes of a try hold: no bound is allowed for\n")
	fmt.Fprintf(&b, "treadle check: %s\n", r.Check)
	return r.Text(b.String(), "all requests had ended")
}
