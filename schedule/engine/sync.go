package engine

import (
	"context"
	"errors"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// page is how many apps are read at a time.
const page = 500

// syncUntilDone does Sync until it succeeds.
func (e *Engine) syncUntilDone(ctx context.Context) {
	t := &trouble{log: e.log, msg: "storing the apps of the specs"}
	for failures := 1; ctx.Err() == nil; failures++ {
		err := e.Sync(ctx)
		t.saw(ctx, err)
		if err == nil || wait.For(ctx, backoff(failures, time.Second, 15*time.Second)) != nil {
			return
		}
	}
}

// Sync puts the apps of the specs into the database, and removes those that were
// there and are not in the specs any more. Run does it until it succeeds.
func (e *Engine) Sync(ctx context.Context) error {
	now, err := e.store.Now(ctx)
	if err != nil {
		return err
	}
	declared := make(map[string]bool, len(e.cfg.SpecApps))
	puts := make([]store.AppPut, 0, len(e.cfg.SpecApps))
	for _, app := range e.cfg.SpecApps {
		declared[app.Name] = true
		p, err := e.scheduler.put(app, proto.AppFromSpecs, now)
		if err != nil {
			e.log.Error("an app of the specs is left out", "app", app.Name, "error", err)
			continue
		}
		puts = append(puts, p)
	}
	if err := e.alignSince(ctx, puts); err != nil {
		return err
	}
	changed, err := e.putAll(ctx, puts)
	if err != nil {
		return err
	}
	removed, err := e.removeUndeclared(ctx, declared)
	if err != nil {
		return err
	}
	if changed+removed > 0 {
		e.log.Info("apps of the specs stored", "declared", len(declared), "changed", changed, "removed", removed)
		wait.Nudge(e.fetchWake)
	}
	if err := e.signalCurrent(ctx, puts, now); err != nil {
		return err
	}
	return e.warnOfProblems(ctx)
}

func (e *Engine) putAll(ctx context.Context, puts []store.AppPut) (changed int, err error) {
	for len(puts) > 0 {
		batch := puts[:min(page, len(puts))]
		puts = puts[len(batch):]
		n, err := e.store.PutApps(ctx, batch)
		if errors.Is(err, store.ErrSource) {
			n, err = e.putEach(ctx, batch)
		}
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

// putEach stores those apps that are not declared over the API.
func (e *Engine) putEach(ctx context.Context, puts []store.AppPut) (changed int, err error) {
	for _, p := range puts {
		did, err := e.store.PutApp(ctx, p)
		if errors.Is(err, store.ErrSource) {
			continue // it is among the problems that are said below
		}
		if err != nil {
			return changed, err
		}
		if did {
			changed++
		}
	}
	return changed, nil
}

func (e *Engine) removeUndeclared(ctx context.Context, declared map[string]bool) (removed int, err error) {
	after := ""
	for {
		rows, err := e.store.AppsAfter(ctx, after, page)
		if err != nil {
			return removed, err
		}
		for _, row := range rows {
			after = row.App.Name
			if row.Source != proto.AppFromSpecs || declared[row.App.Name] {
				continue
			}
			err := e.store.DeleteApp(ctx, row.App.Name, proto.AppFromSpecs, 0)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return removed, err
			}
			e.jobs.forget(row.App.Name)
			e.log.Info("an app is no longer in the specs and was removed", "app", row.App.Name)
			removed++
		}
		if len(rows) < page {
			return removed, nil
		}
	}
}

// signalCurrent has the periods looked at that have begun, of apps that depend on
// others: all that they need may be done already.
func (e *Engine) signalCurrent(ctx context.Context, puts []store.AppPut, now time.Time) error {
	list, err := begun(puts, now)
	if err != nil || len(list) == 0 {
		return err
	}
	if err := e.store.AddSignals(ctx, list); err != nil {
		return err
	}
	wait.Nudge(e.signalWake)
	return nil
}

// begun returns the periods that have begun, of apps that depend on others.
func begun(puts []store.AppPut, now time.Time) (list []signal, err error) {
	for _, p := range puts {
		if len(p.App.Depends) == 0 {
			continue
		}
		cal, err := calendarOf(p.App)
		if err != nil {
			return nil, err
		}
		if o, ok := cal.AtOrBefore(now); ok {
			list = append(list, signal{App: p.App.Name, PeriodStart: o.Start})
		}
	}
	return list, nil
}
