package torture

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

// Report is what all torture tests report. Durations are in nanoseconds.
type Report struct {
	Workload    string        `json:"workload"`
	Database    string        `json:"database"`
	Seed        uint64        `json:"seed"`
	Length      time.Duration `json:"length"` // of the time with faults
	Interrupted bool          `json:"interrupted"`
	// Settled is how long it took after the last fault until all was as it should be.
	Settled    time.Duration `json:"settled"`
	Faults     map[Kind]int  `json:"faults"`
	Missed     int           `json:"missed"` // faults that were not done, since something else was broken
	Events     []Event       `json:"events"`
	Violations []Violation   `json:"violations"`
	Dir        string        `json:"dir"` // of logs and traces; removed if all was well
}

// Count fills in what was done, and what was found.
func (r *Report) Count(events []Event, found *Findings) {
	r.Events, r.Faults, r.Missed = events, map[Kind]int{}, 0
	for _, e := range events {
		if e.Skipped != "" {
			r.Missed++
		} else {
			r.Faults[e.Kind]++
		}
	}
	r.Violations = found.All()
}

// maxShown is how many violations the text has.
const maxShown = 20

// Text returns the report for a reader, with the lines of the workload in it. Settled
// says in words what was waited for.
func (r *Report) Text(lines, settled string) string {
	var b strings.Builder
	end := ""
	if r.Interrupted {
		end = ", interrupted"
	}
	fmt.Fprintf(&b, "torture %s: %s, seed %d, %s of faults%s\n", r.Workload, r.Database, r.Seed, r.Length, end)
	b.WriteString(lines)
	fmt.Fprintf(&b, "faults: %s; not done since something else was broken: %d\n", Counts(r.Faults), r.Missed)
	if !r.Interrupted {
		fmt.Fprintf(&b, "%s %s after the last fault\n", settled, r.Settled.Round(time.Millisecond))
	}
	fmt.Fprintf(&b, "violations: %d\n", len(r.Violations))
	for _, v := range r.Violations[:min(len(r.Violations), maxShown)] {
		fmt.Fprintf(&b, "\nVIOLATION (%s) %s\n", v.Rule, v.What)
		if v.Evidence != "" {
			b.WriteString(strings.TrimSuffix(v.Evidence, "\n") + "\n")
		}
	}
	if n := len(r.Violations) - maxShown; n > 0 {
		fmt.Fprintf(&b, "... and %d more\n", n)
	}
	if len(r.Violations) > 0 {
		fmt.Fprintf(&b, "logs and traces are in %s\n", r.Dir)
	}
	return b.String()
}

// Write writes a report into a directory, as JSON and as text.
func Write(dir string, r fmt.Stringer) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), b, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "report.txt"), []byte(r.String()), 0o644)
}

// Counts writes numbers by name for a reader.
func Counts[K ~string](m map[K]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}

// Times are some times in short.
type Times struct {
	N   int           `json:"n"`
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`
}

// InShort sorts some times and returns them in short.
func InShort(ds []time.Duration) Times {
	if len(ds) == 0 {
		return Times{}
	}
	slices.Sort(ds)
	at := func(p float64) time.Duration { return ds[int(math.Ceil(p*float64(len(ds))))-1] }
	return Times{len(ds), at(0.5), at(0.99), ds[len(ds)-1]}
}
