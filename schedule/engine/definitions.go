package engine

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/ledger"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

// maxRelated bounds how many apps are read to check one: those that it depends on, and
// those that these depend on.
const maxRelated = 10_000

// Definitions changes the apps that are not declared by the specs.
type Definitions struct {
	store     *store.Store
	apps      *ledger.Apps
	check     func(app proto.App, others map[string]proto.App) error
	log       *slog.Logger
	fetchNow  chan<- struct{}
	signalNow chan<- struct{}
	defining  chan struct{} // holds one while a definition is being changed
}

// PutApp makes or changes an app that is not declared by the specs. changed is false
// if it was the same. Its in-flight instances complete by the old definition.
func (d *Definitions) PutApp(ctx context.Context, app proto.App) (changed bool, err error) {
	err = d.define(ctx, app.Name, func(version uint64) error {
		put, err := d.checkedPut(ctx, app)
		if err != nil {
			return err
		}
		put.Version = version
		changed, err = d.store.PutApp(ctx, put)
		return err
	})
	if err != nil {
		return false, err
	}
	d.apps.Forget(app.Name)
	if !changed {
		return false, nil
	}
	d.log.Info("app stored", "app", app.Name)
	wait.Nudge(d.fetchNow)
	wait.Nudge(d.signalNow)
	return true, nil
}

// maxDefine is how often a change of a definition is checked again, since others were
// changed meanwhile.
const maxDefine = 10

// define changes a definition: do checks it against the others, and stores it if these
// are still of that version. One call at a time does so here; it is other members that
// may be faster.
func (d *Definitions) define(ctx context.Context, name string, do func(version uint64) error) error {
	select {
	case d.defining <- struct{}{}:
		defer func() { <-d.defining }()
	case <-ctx.Done():
		return ledger.ForUser(ctx.Err(), name)
	}
	for try := range maxDefine {
		if try > 0 { // let the others get done
			if err := wait.For(ctx, backoff(try, 5*time.Millisecond, time.Second)); err != nil {
				return ledger.ForUser(err, name)
			}
		}
		version, err := d.store.AppsVersion(ctx)
		if err == nil {
			err = do(version)
		}
		if !errors.Is(err, store.ErrAppsChanged) {
			return ledger.ForUser(err, name)
		}
	}
	return ledger.ForUser(store.ErrAppsChanged, name)
}

// checkedPut checks an app that is put over the API, and returns what is stored of it.
func (d *Definitions) checkedPut(ctx context.Context, app proto.App) (put store.AppPut, err error) {
	if err := d.notOfSpecs(ctx, app.Name); err != nil {
		return put, err
	}
	if err := d.checkRelated(ctx, app); err != nil {
		return put, err
	}
	now, err := d.store.Now(ctx)
	if err != nil {
		return put, err
	}
	if put, err = newPut(app, proto.AppFromAPI, now); err != nil {
		return put, err
	}
	puts := []store.AppPut{put}
	if err := alignSince(ctx, d.apps, puts); err != nil {
		return put, err
	}
	if puts[0].Signals, err = startedPeriods(puts, now); err != nil {
		return put, err
	}
	below, err := d.startedBelow(ctx, app.Name, now)
	puts[0].Signals = append(puts[0].Signals, below...)
	return puts[0], err
}

// startedBelow returns the newest started period of each app below one: with the new times
// of this one, there may be nothing left to wait for in them.
func (d *Definitions) startedBelow(ctx context.Context, name string, now time.Time) ([]signal, error) {
	seen := map[string]bool{name: true}
	var out []signal
	for names := []string{name}; len(names) > 0 && len(seen) < maxRelated; names = names[1:] {
		below, err := d.store.Dependents(ctx, names[0])
		if err != nil {
			return nil, err
		}
		found, err := d.apps.Fresh(ctx, slices.Sorted(maps.Keys(below))...)
		if err != nil {
			return nil, err
		}
		for name, app := range found {
			if seen[name] {
				continue
			}
			seen[name] = true
			names = append(names, name)
			if o, ok := app.Calendar.AtOrBefore(now); ok {
				out = append(out, signal{App: name, PeriodStart: o.Start})
			}
		}
	}
	return out, nil
}

// checkRelated says what is wrong with an app, beside the others that it has to do with:
// those above it, and those that depend on it.
func (d *Definitions) checkRelated(ctx context.Context, app proto.App) error {
	others := map[string]proto.App{}
	below, err := d.store.Dependents(ctx, app.Name)
	if err != nil {
		return ledger.ForUser(err, app.Name)
	}
	names := slices.Concat(slices.Collect(maps.Keys(app.Depends)), slices.Collect(maps.Keys(below)))
	for len(names) > 0 {
		rows, err := d.store.Apps(ctx, names[:min(page, len(names))]...)
		if err != nil {
			return ledger.ForUser(err, app.Name)
		}
		names = names[min(page, len(names)):]
		for _, row := range rows {
			others[row.App.Name] = row.App
			for name := range row.App.Depends {
				if _, known := others[name]; !known && name != app.Name && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		if len(others) > maxRelated {
			return proto.Errorf(proto.CodeInvalid, "app %s: more than %d apps are above it", app.Name, maxRelated)
		}
	}
	delete(others, app.Name)
	return d.check(app, others)
}

// notOfSpecs refuses an app that the specs declare, before anything else that may be
// wrong with what is asked: that would mislead. The store refuses it, too.
func (d *Definitions) notOfSpecs(ctx context.Context, name string) error {
	row, err := d.store.App(ctx, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return ledger.ForUser(err, name)
	case row.Source == proto.AppFromSpecs:
		return ledger.ForUser(store.ErrSource, name)
	}
	return nil
}

// DeleteApp removes an app that is not declared by the specs. Its in-flight instances
// complete.
// It refuses if other apps depend on it.
func (d *Definitions) DeleteApp(ctx context.Context, name string) error {
	err := d.define(ctx, name, func(version uint64) error {
		if err := d.notOfSpecs(ctx, name); err != nil {
			return err
		}
		dependents, err := d.store.Dependents(ctx, name)
		if err != nil {
			return err
		}
		if len(dependents) > 0 {
			return proto.Errorf(proto.CodeConflict, "apps depend on %s: %s; delete or change these first",
				name, proto.Names(slices.Sorted(maps.Keys(dependents))))
		}
		return d.store.DeleteApp(ctx, name, proto.AppFromAPI, version)
	})
	if err != nil {
		return err
	}
	d.apps.Forget(name)
	d.log.Info("app deleted", "app", name)
	return nil
}

// PauseApp keeps an app from starting instances, or lets it go on.
func (d *Definitions) PauseApp(ctx context.Context, name string, paused bool) error {
	if err := d.store.PauseApp(ctx, name, paused); err != nil {
		return ledger.ForUser(err, name)
	}
	d.apps.Forget(name)
	d.log.Info("app paused or resumed", "app", name, "paused", paused)
	wait.Nudge(d.fetchNow)
	return nil
}

// newPut returns what is stored of an app: its definition, and its first instance if it
// starts by time. now is the database's.
func newPut(app proto.App, source string, now time.Time) (store.AppPut, error) {
	a, err := plan.Compile(app, time.Time{}, 0)
	if err != nil {
		return store.AppPut{}, err
	}
	p := store.AppPut{App: app, Source: source, Since: now}
	o, ok := a.First(now)
	if a.Recurring() {
		if ok {
			p.First, p.Since = newInstance(a.Instance(o)), o.Start
		}
	} else if o, ok = a.Calendar.AtOrBefore(now); ok {
		// The period that has started counts: upstream apps may have work left in it.
		p.Since = o.Start
	}
	if ok {
		// Until the upstream apps are known, a period is taken to be due at its end.
		p.DeadlineStart, p.DeadlineAt = a.DeadlineOf(o.Start, o.End)
	}
	return p, nil
}
