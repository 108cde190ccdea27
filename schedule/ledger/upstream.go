package ledger

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

// maxRelated bounds how many apps are read above one app.
const maxRelated = 10_000

// Upstream tells what is recorded of the apps that others depend on.
type Upstream struct {
	store *store.Store
	apps  *Apps
}

// NewUpstream returns an Upstream that reads a store.
func NewUpstream(s *store.Store, apps *Apps) *Upstream { return &Upstream{store: s, apps: apps} }

// Of returns the apps that an app depends on, as they are now.
func (u *Upstream) Of(ctx context.Context, app *plan.App) (map[string]*plan.App, error) {
	return u.apps.Fresh(ctx, slices.Sorted(maps.Keys(app.Def.Depends))...)
}

// Complete reports whether the upstream apps have SUCCEEDED for all of a period of an
// app. An upstream app that does not exist has not; one that is newer than the period
// does not hold it back. If all of them are newer, the period is one that was run
// later: then each of them must have completed all of it.
func (u *Upstream) Complete(ctx context.Context, app *plan.App, o calendar.Occurrence) (bool, error) {
	s, err := u.Starts(ctx, app)
	if err != nil || len(s.Missing(app.Def)) > 0 {
		return false, err
	}
	for _, s := range []*plan.Starts{s, s.Everything()} {
		some := false
		for _, name := range slices.Sorted(maps.Keys(app.Def.Depends)) {
			done, needed, err := u.doneAll(ctx, s, s.Apps[name], o.Start, o.End)
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

// Starts returns which periods are expected of an app and of all apps above it.
func (u *Upstream) Starts(ctx context.Context, app *plan.App) (*plan.Starts, error) {
	s := &plan.Starts{Apps: map[string]*plan.App{app.Def.Name: app}}
	names := slices.Sorted(maps.Keys(app.Def.Depends))
	for len(names) > 0 && len(s.Apps) < maxRelated {
		found, err := u.apps.Fresh(ctx, names...)
		if err != nil {
			return nil, err
		}
		names = nil
		for name, up := range found {
			s.Apps[name] = up
			for above := range up.Def.Depends {
				if s.Apps[above] == nil && found[above] == nil && !slices.Contains(names, above) {
					names = append(names, above)
				}
			}
		}
	}
	return s, nil
}

// doneAll reports whether all expected periods of an app that start in [from, to) have
// SUCCEEDED; needed is false if there are none.
func (u *Upstream) doneAll(ctx context.Context, s *plan.Starts, up *plan.App, from, to time.Time) (done, needed bool, err error) {
	first, last, ok := s.Between(up, from, to)
	if !ok {
		return false, false, nil
	}
	// Most often it is the last one that is missing.
	done, err = u.store.Succeeded(ctx, up.Def.Name, last.Start)
	if err != nil || !done || first.Start.Equal(last.Start) {
		return done, true, err
	}
	want := s.Count(up, first.Start, to)
	n, err := u.store.SucceededCount(ctx, up.Def.Name, first.Start, to)
	if err != nil || n < want || up.Recurring() {
		return n >= want, true, err
	}
	done, err = u.doneEach(ctx, s, up, first, last)
	return done, true, err
}

// doneEach is for apps that depend on others: what SUCCEEDED may be periods that were
// not expected, and run all the same.
func (u *Upstream) doneEach(ctx context.Context, s *plan.Starts, up *plan.App, first, last calendar.Occurrence) (bool, error) {
	list, err := u.store.SucceededStarts(ctx, up.Def.Name, first.Start, last.Start.Add(time.Microsecond), plan.MaxExpected)
	if err != nil {
		return false, err
	}
	have := make(map[int64]bool, len(list))
	for _, start := range list {
		have[start.UnixMicro()] = true
	}
	for o, ok := first, true; ok && !o.Start.After(last.Start); o, ok = s.Next(up, o.End) {
		if !have[o.Start.UnixMicro()] {
			return false, nil
		}
	}
	return true, nil
}

// SucceededOf returns how many of the expected periods of an app that start in
// [from, to) have SUCCEEDED.
func (u *Upstream) SucceededOf(ctx context.Context, s *plan.Starts, app *plan.App, from, to time.Time) (int, error) {
	first, last, ok := s.Between(app, from, to)
	if !ok {
		return 0, nil
	}
	if app.Recurring() {
		return u.store.SucceededCount(ctx, app.Def.Name, first.Start, last.Start.Add(time.Microsecond))
	}
	list, err := u.store.SucceededStarts(ctx, app.Def.Name, first.Start, last.Start.Add(time.Microsecond), plan.MaxExpected)
	n := 0
	for _, start := range list {
		if o, ok := s.Next(app, start); ok && o.Start.Equal(start) {
			n++
		}
	}
	return n, err
}

// NotDone returns the starts of the first and the last expected period in [from, to)
// that did not SUCCEED. Of more than 100 it returns the first and the last expected one.
func (u *Upstream) NotDone(ctx context.Context, s *plan.Starts, app *plan.App, from, to time.Time, n int) (first, last time.Time, ok bool, err error) {
	o, end, ok := s.Between(app, from, to)
	if !ok || n > 100 {
		return o.Start, end.Start, ok, nil
	}
	found := false
	for ; ok && o.Start.Before(to); o, ok = s.Next(app, o.Start.Add(time.Nanosecond)) {
		done, err := u.store.Succeeded(ctx, app.Def.Name, o.Start)
		if err != nil {
			return first, last, false, err
		}
		if done {
			continue
		}
		if !found {
			first, found = o.Start, true
		}
		last = o.Start
	}
	return first, last, found, nil
}
