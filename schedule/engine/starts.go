package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
)

// starts tells which periods of apps are expected: those of an app that starts by time
// are its occurrences. Of one that depends on others, they are the periods in which one
// of these has something to do: there is nothing to wait for in the others, such as the
// Saturdays of what depends on work of weekdays.
type starts struct {
	jobs map[string]*Job // an app, and all above it
	// all counts also what was before the apps were there.
	all bool
	// known are answers of next and last: many ways may lead up to one app.
	known map[startsKey]startsAnswer
	depth int // of the calls that are under way
}

type startsKey struct {
	app     string
	at      int64
	forward bool
}

type startsAnswer struct {
	o  calendar.Occurrence
	ok bool
}

const (
	// maxKnown bounds the answers that are kept.
	maxKnown = 10_000
	// maxDepth is how far up it is looked. It ends, too, in a circle.
	maxDepth = 200
)

// once returns what find finds, which it is asked for once.
func (s *starts) once(j *Job, t time.Time, forward bool, find func() (calendar.Occurrence, bool)) (calendar.Occurrence, bool) {
	key := startsKey{j.App.Name, t.UnixNano(), forward}
	if a, ok := s.known[key]; ok {
		return a.o, a.ok
	}
	if s.depth >= maxDepth {
		return calendar.Occurrence{}, false
	}
	s.depth++
	o, ok := find()
	s.depth--
	if s.known == nil || len(s.known) >= maxKnown {
		s.known = map[startsKey]startsAnswer{}
	}
	s.known[key] = startsAnswer{o, ok}
	return o, ok
}

// startsOf reads what there is above an app.
func (e *Engine) startsOf(ctx context.Context, j *Job) (*starts, error) {
	s := &starts{jobs: map[string]*Job{j.App.Name: j}}
	names := slices.Sorted(maps.Keys(j.App.Depends))
	for len(names) > 0 && len(s.jobs) < maxRelated {
		found, err := e.jobs.fresh(ctx, names...)
		if err != nil {
			return nil, err
		}
		names = nil
		for name, up := range found {
			s.jobs[name] = up
			for above := range up.App.Depends {
				if s.jobs[above] == nil && found[above] == nil && !slices.Contains(names, above) {
					names = append(names, above)
				}
			}
		}
	}
	return s, nil
}

// everything is the same without regard to when the apps came.
func (s *starts) everything() *starts { return &starts{jobs: s.jobs, all: true} }

// next returns the first period of a job that is expected and starts at t or later.
func (s *starts) next(j *Job, t time.Time) (calendar.Occurrence, bool) {
	if !s.all && j.Since.After(t) {
		t = j.Since
	}
	o, ok := j.cal.Next(t.Add(-time.Nanosecond))
	if !ok || j.recurring() {
		return o, ok
	}
	return s.once(j, o.Start, true, func() (calendar.Occurrence, bool) {
		var first time.Time
		for name := range j.App.Depends {
			up := s.jobs[name]
			if up == nil {
				continue
			}
			if u, ok := s.next(up, o.Start); ok && (first.IsZero() || u.Start.Before(first)) {
				first = u.Start
			}
		}
		if first.IsZero() {
			return o, false
		}
		return j.cal.AtOrBefore(first)
	})
}

// last returns the last period of a job that is expected and starts before t.
func (s *starts) last(j *Job, t time.Time) (calendar.Occurrence, bool) {
	o, ok := j.cal.AtOrBefore(t.Add(-time.Nanosecond))
	if ok && !j.recurring() {
		o, ok = s.once(j, o.End, false, func() (calendar.Occurrence, bool) {
			var last time.Time
			for name := range j.App.Depends {
				up := s.jobs[name]
				if up == nil {
					continue
				}
				if u, ok := s.last(up, o.End); ok && u.Start.After(last) {
					last = u.Start
				}
			}
			if last.IsZero() {
				return o, false
			}
			return j.cal.AtOrBefore(last)
		})
	}
	return o, ok && (s.all || !o.Start.Before(j.Since))
}

// between returns the first and the last expected period of a job that start in
// [from, to); false if there is none.
func (s *starts) between(j *Job, from, to time.Time) (first, last calendar.Occurrence, ok bool) {
	if last, ok = s.last(j, to); !ok || last.Start.Before(from) {
		return first, last, false
	}
	first, ok = s.next(j, from)
	return first, last, ok && !first.Start.After(last.Start)
}

// count returns how many expected periods of a job start in [from, to), at most
// maxExpected.
func (s *starts) count(j *Job, from, to time.Time) int {
	first, last, ok := s.between(j, from, to)
	if !ok {
		return 0
	}
	if j.recurring() {
		return j.cal.Count(first.Start, last.Start.Add(1), maxExpected)
	}
	n := 0
	for o := first; ok && n < maxExpected && !o.Start.After(last.Start); o, ok = s.next(j, o.End) {
		n++
	}
	return n
}

// nothingIn says that a period of a job is not expected, since none of its upstream
// apps has a start in it; "" if one has.
func (s *starts) nothingIn(j *Job, o calendar.Occurrence) string {
	if j.recurring() {
		return ""
	}
	for name := range j.App.Depends {
		up := s.jobs[name]
		if up == nil {
			return "" // what it does is not known
		}
		if _, _, ok := s.between(up, o.Start, o.End); ok {
			return ""
		}
	}
	return "nothing to wait for: no start of " + strings.Join(slices.Sorted(maps.Keys(j.App.Depends)), ", ") + " in it"
}

// nothingToWaitFor is nothingIn for one period.
func (e *Engine) nothingToWaitFor(ctx context.Context, j *Job, o calendar.Occurrence) (string, error) {
	s, err := e.startsOf(ctx, j)
	if err != nil {
		return "", err
	}
	return s.nothingIn(j, o), nil
}

// doneAll reports whether all expected periods of an app that start in [from, to) have
// SUCCEEDED; needed is false if there are none.
func (e *Engine) doneAll(ctx context.Context, s *starts, up *Job, from, to time.Time) (done, needed bool, err error) {
	first, last, ok := s.between(up, from, to)
	if !ok {
		return false, false, nil
	}
	// Most often it is the last one that is missing.
	done, err = e.store.Succeeded(ctx, up.App.Name, last.Start)
	if err != nil || !done || first.Start.Equal(last.Start) {
		return done, true, err
	}
	want := s.count(up, first.Start, to)
	n, err := e.store.SucceededCount(ctx, up.App.Name, first.Start, to)
	if err != nil || n < want || up.recurring() {
		return n >= want, true, err
	}
	done, err = e.doneEach(ctx, s, up, first, last)
	return done, true, err
}

// doneEach is for apps that depend on others: what SUCCEEDED may be periods that were
// not expected, and run all the same.
func (e *Engine) doneEach(ctx context.Context, s *starts, up *Job, first, last calendar.Occurrence) (bool, error) {
	list, err := e.store.SucceededStarts(ctx, up.App.Name, first.Start, last.Start.Add(time.Microsecond), maxExpected)
	if err != nil {
		return false, err
	}
	have := make(map[int64]bool, len(list))
	for _, start := range list {
		have[start.UnixMicro()] = true
	}
	for o, ok := first, true; ok && !o.Start.After(last.Start); o, ok = s.next(up, o.End) {
		if !have[o.Start.UnixMicro()] {
			return false, nil
		}
	}
	return true, nil
}

// missing returns which of the named apps are not there.
func (s *starts) missing(app proto.App) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(app.Depends)) {
		if s.jobs[name] == nil {
			out = append(out, name)
		}
	}
	return out
}
