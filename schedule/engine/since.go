package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/schedule/ledger"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

// alignSince sets since when periods are expected of apps that depend on others: from the
// first period in which an upstream app has something to do. An earlier period would never
// complete, and apps further down would wait for it for ever.
func alignSince(ctx context.Context, apps *ledger.Apps, puts []store.AppPut) error {
	a := aligner{puts: map[string]*store.AppPut{}, there: map[string]*plan.App{}, done: map[string]bool{}}
	names := map[string]bool{}
	for i := range puts {
		a.puts[puts[i].App.Name] = &puts[i]
		for up := range puts[i].App.Depends {
			names[up] = true
		}
	}
	all := slices.Sorted(maps.Keys(names))
	for len(all) > 0 {
		n := min(page, len(all))
		found, err := apps.Fresh(ctx, all[:n]...)
		if err != nil {
			return err
		}
		maps.Copy(a.there, found)
		all = all[n:]
	}
	for i := range puts {
		if err := a.align(puts[i].App.Name); err != nil {
			return err
		}
	}
	return nil
}

// aligner has the apps that are stored together, and those that are there.
type aligner struct {
	puts  map[string]*store.AppPut
	there map[string]*plan.App
	done  map[string]bool // or under way
}

func (a *aligner) align(name string) error {
	p := a.puts[name]
	if p == nil || a.done[name] || len(p.App.Depends) == 0 {
		return nil
	}
	a.done[name] = true
	app, err := plan.Compile(p.App, time.Time{}, 0)
	if err != nil {
		return err
	}
	var first time.Time
	for up := range p.App.Depends {
		at, ok, err := a.firstOf(up)
		if err != nil {
			return err
		}
		if ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if o, ok := app.Calendar.AtOrBefore(first); ok && !first.IsZero() && o.Start.After(p.Since) {
		p.Since = o.Start
		p.DeadlineStart, p.DeadlineAt = app.DeadlineOf(o.Start, o.End)
	}
	return nil
}

// firstOf returns the first occurrence that is expected of an app.
func (a *aligner) firstOf(name string) (time.Time, bool, error) {
	put := a.puts[name]
	if up := a.there[name]; up != nil && (put == nil || store.SameTimes(up.Def, put.App)) {
		o, ok := up.Calendar.Next(up.Since.Add(-time.Nanosecond))
		return o.Start, ok, nil
	}
	if err := a.align(name); err != nil || put == nil {
		return time.Time{}, false, err
	}
	return put.Since, true, nil
}
