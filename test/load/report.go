package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// report prints what was measured as it comes.
type report struct{}

func newReport(o options) *report {
	fmt.Printf("%s, %d CPUs, %s, database %s\n", time.Now().UTC().Format("2006-01-02 15:04 MST"), runtime.NumCPU(), runtime.Version(), o.db)
	return &report{}
}

func (r *report) section(w workload) {
	fmt.Printf("\n%s: %s\n\n| case | figure |\n| --- | --- |\n", w.name, w.what)
}

func (r *report) row(name, format string, args ...any) {
	fmt.Printf("| %s | %s |\n", name, fmt.Sprintf(format, args...))
}

// quantiles are of durations.
type quantiles struct{ p50, p99, max time.Duration }

func (q quantiles) String() string {
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	return fmt.Sprintf("p50 %s, p99 %s, max %s", round(q.p50), round(q.p99), round(q.max))
}

func quantilesOf(ds []time.Duration) quantiles {
	if len(ds) == 0 {
		return quantiles{}
	}
	ds = slices.Sorted(slices.Values(ds))
	at := func(q float64) time.Duration { return ds[min(int(q*float64(len(ds))), len(ds)-1)] }
	return quantiles{p50: at(0.5), p99: at(0.99), max: ds[len(ds)-1]}
}
