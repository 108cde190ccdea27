package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

const (
	maxList = 1000
	// maxRelated bounds how many apps are read to check one: those that it depends on,
	// and those that these depend on.
	maxRelated = 10_000
)

func limited(n, def int) int {
	if n <= 0 {
		return def
	}
	return min(n, maxList)
}

// Apps returns the apps by name, those after the given name, at most limit (1,000 if
// 0). They are without Next and Last.
func (e *Engine) Apps(ctx context.Context, after string, limit int) ([]proto.AppStatus, error) {
	rows, err := e.store.AppsAfter(ctx, after, limited(limit, maxList))
	if err != nil {
		return nil, storeError(err, "")
	}
	problems, err := e.problems(ctx, rows)
	if err != nil {
		return nil, storeError(err, "")
	}
	out := make([]proto.AppStatus, len(rows))
	if len(rows) == 0 {
		return out, nil
	}
	running, err := e.store.RunningInstances(ctx, after, rows[len(rows)-1].App.Name)
	if err != nil {
		return nil, storeError(err, "")
	}
	for i, row := range rows {
		out[i] = statusOf(row)
		out[i].Problem, out[i].Running = problems[row.App.Name], running[row.App.Name]
	}
	return out, nil
}

func statusOf(row store.AppRow) proto.AppStatus {
	return proto.AppStatus{App: row.App, Source: row.Source, Paused: row.Paused, Since: row.Since}
}

// App returns an app and how it stands.
func (e *Engine) App(ctx context.Context, name string) (proto.AppStatus, error) {
	row, err := e.store.App(ctx, name)
	if err != nil {
		return proto.AppStatus{}, storeError(err, name)
	}
	problems, err := e.problems(ctx, []store.AppRow{row})
	if err != nil {
		return proto.AppStatus{}, storeError(err, name)
	}
	out := statusOf(row)
	out.Problem = problems[name]
	live, err := e.store.Instances(ctx, store.InstanceFilter{App: name, Limit: maxList, States: []proto.InstanceState{
		proto.InstanceQueued, proto.InstanceRunning, proto.InstanceToUndo, proto.InstanceUndoing}})
	if err != nil {
		return out, storeError(err, name)
	}
	for _, in := range live {
		if in.State != proto.InstanceQueued {
			out.Running++
		} else if out.Next == nil || in.Due.Before(out.Next.Due) {
			out.Next = &in
		}
	}
	ended, err := e.store.Instances(ctx, store.InstanceFilter{App: name, Limit: 1, States: []proto.InstanceState{
		proto.InstanceSucceeded, proto.InstanceFailed}})
	if err != nil {
		return out, storeError(err, name)
	}
	if len(ended) > 0 {
		out.Last = &ended[0]
	}
	return out, nil
}

// PutApp makes or changes an app that is not declared by the specs. changed is false
// if it was the same. What runs of it ends as it began.
func (e *Engine) PutApp(ctx context.Context, app proto.App) (changed bool, err error) {
	err = e.define(ctx, app.Name, func(version uint64) error {
		put, err := e.checkedPut(ctx, app)
		if err != nil {
			return err
		}
		put.Version = version
		changed, err = e.store.PutApp(ctx, put)
		return err
	})
	if err != nil {
		return false, err
	}
	e.jobs.forget(app.Name)
	if !changed {
		return false, nil
	}
	e.log.Info("app stored", "app", app.Name)
	wait.Nudge(e.fetchWake)
	wait.Nudge(e.signalWake)
	return true, nil
}

// maxDefine is how often a change of a definition is checked again, since others were
// changed meanwhile.
const maxDefine = 10

// define changes a definition: do checks it against the others, and stores it if these
// are still of that version. One call at a time does so here; it is other members that
// may be faster.
func (e *Engine) define(ctx context.Context, name string, do func(version uint64) error) error {
	select {
	case e.defining <- struct{}{}:
		defer func() { <-e.defining }()
	case <-ctx.Done():
		return storeError(ctx.Err(), name)
	}
	for try := range maxDefine {
		if try > 0 { // let the others get done
			if err := wait.For(ctx, backoff(try, 5*time.Millisecond, time.Second)); err != nil {
				return storeError(err, name)
			}
		}
		version, err := e.store.AppsVersion(ctx)
		if err == nil {
			err = do(version)
		}
		if !errors.Is(err, store.ErrAppsChanged) {
			return storeError(err, name)
		}
	}
	return storeError(store.ErrAppsChanged, name)
}

// checkedPut checks an app that is put over the API, and returns what is stored of it.
func (e *Engine) checkedPut(ctx context.Context, app proto.App) (put store.AppPut, err error) {
	if err := e.notOfSpecs(ctx, app.Name); err != nil {
		return put, err
	}
	if err := e.check(ctx, app); err != nil {
		return put, err
	}
	now, err := e.store.Now(ctx)
	if err != nil {
		return put, err
	}
	if put, err = e.scheduler.put(app, proto.AppFromAPI, now); err != nil {
		return put, err
	}
	puts := []store.AppPut{put}
	if err := e.alignSince(ctx, puts); err != nil {
		return put, err
	}
	if puts[0].Signals, err = begun(puts, now); err != nil {
		return put, err
	}
	below, err := e.begunBelow(ctx, app.Name, now)
	puts[0].Signals = append(puts[0].Signals, below...)
	return puts[0], err
}

// begunBelow returns the periods that have begun of all apps below one: with its new
// times, there may be nothing left to wait for in them.
func (e *Engine) begunBelow(ctx context.Context, name string, now time.Time) ([]signal, error) {
	seen := map[string]bool{name: true}
	var out []signal
	for names := []string{name}; len(names) > 0 && len(seen) < maxRelated; names = names[1:] {
		below, err := e.store.Dependents(ctx, names[0])
		if err != nil {
			return nil, err
		}
		jobs, err := e.jobs.fresh(ctx, slices.Sorted(maps.Keys(below))...)
		if err != nil {
			return nil, err
		}
		for app, j := range jobs {
			if seen[app] {
				continue
			}
			seen[app] = true
			names = append(names, app)
			if o, ok := j.cal.AtOrBefore(now); ok {
				out = append(out, signal{App: app, PeriodStart: o.Start})
			}
		}
	}
	return out, nil
}

// check says what is wrong with an app, beside the others that it has to do with:
// those above it, and those that depend on it.
func (e *Engine) check(ctx context.Context, app proto.App) error {
	others := map[string]proto.App{}
	below, err := e.store.Dependents(ctx, app.Name)
	if err != nil {
		return storeError(err, app.Name)
	}
	names := slices.Concat(slices.Collect(maps.Keys(app.Depends)), slices.Collect(maps.Keys(below)))
	for len(names) > 0 {
		rows, err := e.store.Apps(ctx, names[:min(page, len(names))]...)
		if err != nil {
			return storeError(err, app.Name)
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
	return e.cfg.Check(app, others)
}

// notOfSpecs refuses an app that the specs declare, before anything else that may be
// wrong with what is asked: that would mislead. The store refuses it, too.
func (e *Engine) notOfSpecs(ctx context.Context, name string) error {
	row, err := e.store.App(ctx, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return storeError(err, name)
	case row.Source == proto.AppFromSpecs:
		return storeError(store.ErrSource, name)
	}
	return nil
}

// DeleteApp removes an app that is not declared by the specs. What runs of it ends.
// It refuses if other apps depend on it.
func (e *Engine) DeleteApp(ctx context.Context, name string) error {
	err := e.define(ctx, name, func(version uint64) error {
		if err := e.notOfSpecs(ctx, name); err != nil {
			return err
		}
		dependents, err := e.store.Dependents(ctx, name)
		if err != nil {
			return err
		}
		if len(dependents) > 0 {
			return proto.Errorf(proto.CodeConflict, "apps depend on %s: %s; delete or change these first",
				name, proto.Names(slices.Sorted(maps.Keys(dependents))))
		}
		return e.store.DeleteApp(ctx, name, proto.AppFromAPI, version)
	})
	if err != nil {
		return err
	}
	e.jobs.forget(name)
	e.log.Info("app deleted", "app", name)
	return nil
}

// PauseApp keeps an app from starting instances, or lets it go on.
func (e *Engine) PauseApp(ctx context.Context, name string, paused bool) error {
	if err := e.store.PauseApp(ctx, name, paused); err != nil {
		return storeError(err, name)
	}
	e.jobs.forget(name)
	e.log.Info("app paused or resumed", "app", name, "paused", paused)
	wait.Nudge(e.fetchWake)
	return nil
}

// storeError makes an error of the store one for the user. name is that of the app.
func storeError(err error, name string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*proto.Error](err); ok {
		return err
	}
	e := &proto.Error{Code: proto.CodeInternal, Message: "internal error", Err: err}
	switch {
	case errors.Is(err, store.ErrNotFound):
		e.Code, e.Message = proto.CodeNotFound, "no app "+name
	case errors.Is(err, store.ErrSource):
		e.Code, e.Message = proto.CodeConflict, "app "+name+" is declared in the specs: change it there"
	case errors.Is(err, store.ErrStaleApp), errors.Is(err, store.ErrNotUpdated):
		e.Code, e.Message = proto.CodeConflict, "app "+name+" was changed at the same time; try again"
	case errors.Is(err, store.ErrAppsChanged):
		e.Code, e.Message, e.RetryAfter = proto.CodeUnavailable, "other apps are being changed all the time; try again", time.Second
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		e.Code, e.Message, e.RetryAfter = proto.CodeUnavailable, "the database does not answer; try again", time.Second
	}
	return e
}
