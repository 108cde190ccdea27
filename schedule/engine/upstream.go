package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
)

const (
	// maxConf bounds conf, in bytes; maxConfInstances how many results are read for it
	// of one upstream app.
	maxConf          = 256 << 10
	maxConfInstances = 2000
	// maxExpected is how many instances of an upstream app one period may need. A year
	// of minutes is below.
	maxExpected = 1_000_000
)

// upstreams returns the jobs of the apps that a job depends on, as they are now.
func (e *Engine) upstreams(ctx context.Context, j *Job) (map[string]*Job, error) {
	return e.jobs.fresh(ctx, slices.Sorted(maps.Keys(j.App.Depends))...)
}

// need says which occurrences of an upstream app a period needs: those that start in
// it and are expected at all. last is the last one; ok is false if there is none.
func (j *Job) need(o calendar.Occurrence) (from time.Time, last calendar.Occurrence, ok bool) {
	from = o.Start
	if j.Since.After(from) {
		from = j.Since
	}
	last, ok = j.cal.AtOrBefore(o.End.Add(-time.Nanosecond))
	return from, last, ok && !last.Start.Before(from)
}

// complete reports whether the upstream apps have SUCCEEDED for all of a period of a
// job. An upstream app that is not there has not; one that is newer than the period
// does not hold it back. If all of them are newer, the period is one that was run
// later: then all of it must be done of each.
func (e *Engine) complete(ctx context.Context, j *Job, o calendar.Occurrence) (bool, error) {
	s, err := e.startsOf(ctx, j)
	if err != nil || len(s.missing(j.App)) > 0 {
		return false, err
	}
	for _, s := range []*starts{s, s.everything()} {
		some := false
		for _, name := range slices.Sorted(maps.Keys(j.App.Depends)) {
			done, needed, err := e.doneAll(ctx, s, s.jobs[name], o.Start, o.End)
			if err != nil || needed && !done {
				return false, err
			}
			some = some || needed
		}
		if some {
			return true, nil
		}
	}
	return false, nil
}

// lastDue is when a period of a job can start at the earliest: when the last instance
// that it needs is due.
func (j *Job) lastDue(ups map[string]*Job, o calendar.Occurrence) time.Time {
	due := o.Start
	for _, up := range ups {
		if _, last, ok := up.need(o); ok && up.due(last.Start).After(due) {
			due = up.due(last.Start)
		}
	}
	return due
}

// upstreamConf is what an instance is told of an upstream app. Results are by name of
// the instance.
type upstreamConf struct {
	Count   int                        `json:"count"`
	Results map[string]json.RawMessage `json:"results,omitempty"`
	// Omitted says that the results are too large, or too many.
	Omitted bool `json:"omitted,omitempty"`
}

// conf returns what the instance of a period is given: the results of its upstream
// instances, by app.
func (e *Engine) conf(ctx context.Context, j *Job, o calendar.Occurrence) (json.RawMessage, error) {
	conf, size := map[string]*upstreamConf{}, 0
	for _, name := range slices.Sorted(maps.Keys(j.App.Depends)) {
		n, err := e.store.SucceededCount(ctx, name, o.Start, o.End)
		if err != nil {
			return nil, err
		}
		c := &upstreamConf{Count: n}
		conf[name] = c
		if n > maxConfInstances || size > maxConf {
			c.Omitted = true
			continue
		}
		list, err := e.store.SucceededInstances(ctx, name, o.Start, o.End, maxConfInstances)
		if err != nil {
			return nil, err
		}
		c.Results = make(map[string]json.RawMessage, len(list))
		for _, in := range list { // of several runs, the last one is last
			r := in.Result
			if len(r) == 0 {
				r = json.RawMessage("{}")
			}
			c.Results[in.Name] = r
			size += len(r) + len(in.Name) + 8
		}
	}
	if size > maxConf {
		for _, c := range conf {
			c.Results, c.Omitted = nil, true
		}
	}
	b, err := json.Marshal(conf)
	if err != nil {
		return nil, fmt.Errorf("conf of %s: %w", j.App.Name, err)
	}
	return b, nil
}

// signalsOf returns the periods of dependent apps that an instance that SUCCEEDED may
// complete.
func (e *Engine) signalsOf(ctx context.Context, in proto.Instance) ([]signal, error) {
	dependents, err := e.store.Dependents(ctx, in.App)
	if err != nil || len(dependents) == 0 {
		return nil, err
	}
	var out []signal
	for _, name := range slices.Sorted(maps.Keys(dependents)) {
		j, err := e.jobs.get(ctx, name)
		if err != nil {
			return nil, err
		}
		if j.recurring() || j.App.Depends[in.App] != dependents[name] {
			// It has changed since it was loaded.
			fresh, err := e.jobs.fresh(ctx, name)
			if err != nil {
				return nil, err
			}
			if j = fresh[name]; j == nil || j.recurring() {
				continue
			}
		}
		if o, ok := j.cal.AtOrBefore(in.PeriodStart); ok {
			out = append(out, signal{App: name, PeriodStart: o.Start})
		}
	}
	return out, nil
}
