package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// report is what a run found.
type report struct {
	Database string        `json:"database"`
	Seed     uint64        `json:"seed"`
	Length   time.Duration `json:"length"`
	// Settled is how long the last requests took once all faults were over.
	Settled  time.Duration  `json:"settled"`
	Requests int            `json:"requests"`
	Accepted int            `json:"accepted"`
	Submits  int            `json:"submits"`
	Waited   int            `json:"waited"` // times that the load waited, since too much was under way
	Jobs     int            `json:"jobs"`   // tries that began
	States   map[string]int `json:"states"`
	Faults   map[kind]int   `json:"faults"`
	Skipped  int            `json:"skipped"`
	Events   []event        `json:"events"`
	// Recovery has how long all requests of a fault took to go on.
	Recovery   map[string]times `json:"recovery"`
	Slow       []slowOne        `json:"slow"`
	Unfollowed int              `json:"unfollowed"` // faults of which some had not gone on
	Errors     map[string]int   `json:"errors"`     // of the logs of services
	Check      string           `json:"check"`      // what `treadle check` said
	Violations []violation      `json:"violations"`
}

// times are some times in short.
type times struct {
	N             int
	P50, P99, Max time.Duration
}

func newReport(o options, x *executor, l *load, w *watch) *report {
	r := &report{
		Database: o.db, Seed: o.seed, Length: o.length, Waited: l.held,
		States: map[string]int{}, Faults: map[kind]int{}, Recovery: map[string]times{}, Errors: map[string]int{},
		Events: x.done, Unfollowed: len(w.follows), Slow: w.slow, Violations: []violation{},
	}
	for _, e := range x.done {
		if e.Skipped != "" {
			r.Skipped++
		} else {
			r.Faults[e.Kind]++
		}
	}
	var all []time.Duration
	for what, ds := range w.times {
		r.Recovery[what] = inShort(ds)
		all = append(all, ds...)
	}
	r.Recovery["all"] = inShort(all)
	return r
}

func inShort(ds []time.Duration) times {
	if len(ds) == 0 {
		return times{}
	}
	slices.Sort(ds)
	at := func(p float64) time.Duration { return ds[int(math.Ceil(p*float64(len(ds))))-1] }
	return times{len(ds), at(0.5), at(0.99), ds[len(ds)-1]}
}

// write writes the report as JSON and as text.
func (r *report) write(dir string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), b, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "report.txt"), []byte(r.String()), 0o644)
}

// maxShown is how many violations the text has.
const maxShown = 20

func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "torture: %s, seed %d, %s of faults, settled %s after the last\n", r.Database, r.Seed, r.Length, r.Settled.Round(time.Millisecond))
	fmt.Fprintf(&b, "requests: %d (%d accepted in %d calls; the load waited %d times); tries of jobs: %d\n", r.Requests, r.Accepted, r.Submits, r.Waited, r.Jobs)
	fmt.Fprintf(&b, "states: %s\n", counts(r.States))
	fmt.Fprintf(&b, "faults: %s; not done since something else was broken: %d\n", counts(r.Faults), r.Skipped)
	b.WriteString("recovery, from the fault until all its requests went on:\n")
	for _, what := range slices.Sorted(maps.Keys(r.Recovery)) {
		t := r.Recovery[what]
		fmt.Fprintf(&b, "  %-28s n=%-4d p50 %-8s p99 %-8s max %s\n", what, t.N,
			t.P50.Round(10*time.Millisecond), t.P99.Round(10*time.Millisecond), t.Max.Round(10*time.Millisecond))
	}
	if len(r.Errors) > 0 {
		fmt.Fprintf(&b, "errors in logs: %s\n", counts(r.Errors))
	}
	b.WriteString("tries side by side are found by locks that all processes of a try hold: no bound is allowed for\n")
	fmt.Fprintf(&b, "treadle check: %s\n", r.Check)
	fmt.Fprintf(&b, "violations: %d\n", len(r.Violations))
	for _, v := range r.Violations[:min(len(r.Violations), maxShown)] {
		fmt.Fprintf(&b, "\nVIOLATION (%s) %s: %s\n%s", v.Rule, v.Request, v.What, v.Evidence)
	}
	if n := len(r.Violations) - maxShown; n > 0 {
		fmt.Fprintf(&b, "... and %d more, see report.json\n", n)
	}
	return b.String()
}

func counts[K ~string](m map[K]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}
