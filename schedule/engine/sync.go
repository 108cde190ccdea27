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

// page is how many apps are read at a time.
const page = 500

// SpecApps is the role that stores the apps of the specs.
type SpecApps struct {
	store     *store.Store
	apps      *ledger.Apps
	ledger    *ledger.Ledger
	log       *slog.Logger
	fetchNow  chan<- struct{}
	signalNow chan<- struct{}
	declared  []proto.App
}

// run does Sync until it succeeds.
func (s *SpecApps) run(ctx context.Context) {
	t := &trouble{log: s.log, msg: "storing the apps of the specs"}
	for failures := 1; ctx.Err() == nil; failures++ {
		err := s.Sync(ctx)
		t.record(ctx, err)
		if err == nil || wait.For(ctx, backoff(failures, time.Second, 15*time.Second)) != nil {
			return
		}
	}
}

// Sync puts the apps of the specs into the database, and removes those that were
// there and are not in the specs any more. Run does it until it succeeds.
func (s *SpecApps) Sync(ctx context.Context) error {
	now, err := s.store.Now(ctx)
	if err != nil {
		return err
	}
	declared := make(map[string]bool, len(s.declared))
	puts := make([]store.AppPut, 0, len(s.declared))
	for _, app := range s.declared {
		declared[app.Name] = true
		p, err := newPut(app, proto.AppFromSpecs, now)
		if err != nil {
			s.log.Error("an app of the specs is left out", "app", app.Name, "error", err)
			continue
		}
		puts = append(puts, p)
	}
	if err := alignSince(ctx, s.apps, puts); err != nil {
		return err
	}
	changed, err := s.putAll(ctx, puts)
	if err != nil {
		return err
	}
	removed, err := s.removeUndeclared(ctx, declared)
	if err != nil {
		return err
	}
	if changed+removed > 0 {
		s.log.Info("apps of the specs stored", "declared", len(declared), "changed", changed, "removed", removed)
		wait.Nudge(s.fetchNow)
	}
	if err := s.signalCurrent(ctx, puts, now); err != nil {
		return err
	}
	return s.warnOfProblems(ctx)
}

func (s *SpecApps) putAll(ctx context.Context, puts []store.AppPut) (changed int, err error) {
	for len(puts) > 0 {
		batch := puts[:min(page, len(puts))]
		puts = puts[len(batch):]
		n, err := s.store.PutApps(ctx, batch)
		if errors.Is(err, store.ErrSource) {
			n, err = s.putEach(ctx, batch)
		}
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

// putEach stores those apps that are not declared over the API.
func (s *SpecApps) putEach(ctx context.Context, puts []store.AppPut) (changed int, err error) {
	for _, p := range puts {
		did, err := s.store.PutApp(ctx, p)
		if errors.Is(err, store.ErrSource) {
			continue // Sync logs it among the problems
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

func (s *SpecApps) removeUndeclared(ctx context.Context, declared map[string]bool) (removed int, err error) {
	after := ""
	for {
		rows, err := s.store.AppsAfter(ctx, after, page)
		if err != nil {
			return removed, err
		}
		for _, row := range rows {
			after = row.App.Name
			if row.Source != proto.AppFromSpecs || declared[row.App.Name] {
				continue
			}
			err := s.store.DeleteApp(ctx, row.App.Name, proto.AppFromSpecs, 0)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return removed, err
			}
			s.apps.Forget(row.App.Name)
			s.log.Info("an app is no longer in the specs and was removed", "app", row.App.Name)
			removed++
		}
		if len(rows) < page {
			return removed, nil
		}
	}
}

// signalCurrent adds signals for the started periods of apps that depend on others: their
// upstream apps may have completed already.
func (s *SpecApps) signalCurrent(ctx context.Context, puts []store.AppPut, now time.Time) error {
	list, err := startedPeriods(puts, now)
	if err != nil || len(list) == 0 {
		return err
	}
	if err := s.store.AddSignals(ctx, list); err != nil {
		return err
	}
	wait.Nudge(s.signalNow)
	return nil
}

// startedPeriods returns the newest started period of each app that depends on others.
func startedPeriods(puts []store.AppPut, now time.Time) (list []signal, err error) {
	for _, p := range puts {
		if len(p.App.Depends) == 0 {
			continue
		}
		cal, err := plan.CalendarOf(p.App)
		if err != nil {
			return nil, err
		}
		if o, ok := cal.AtOrBefore(now); ok {
			list = append(list, signal{App: p.App.Name, PeriodStart: o.Start})
		}
	}
	return list, nil
}

// warnOfProblems logs what is wrong with apps, after those of the specs were stored.
func (s *SpecApps) warnOfProblems(ctx context.Context) error {
	for after := ""; ; {
		rows, err := s.store.AppsAfter(ctx, after, page)
		if err != nil {
			return err
		}
		problems, err := s.ledger.Problems(ctx, rows)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(problems)) {
			s.log.Warn("an app has a problem", "app", name, "problem", problems[name])
		}
		if len(rows) < page {
			return nil
		}
		after = rows[len(rows)-1].App.Name
	}
}
