package engine

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/ledger"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

// finisher ends instances.
type finisher struct {
	store     *store.Store
	apps      *ledger.Apps
	clock     *clock
	metrics   *metrics
	fetchNow  chan<- struct{}
	signalNow chan<- struct{}
	poll      time.Duration
}

// finish ends an instance: in one transaction it goes to the archive, the next one is
// made, and apps that depend on it get a signal.
func (f *finisher) finish(ctx context.Context, app *plan.App, in proto.Instance, state proto.InstanceState, reason string, result json.RawMessage) error {
	ctx, cancel := ending(ctx)
	defer cancel()
	for range maxReloads {
		end, skipped, err := f.prepare(ctx, app, in, state, reason)
		if err != nil {
			return err
		}
		end.Result = result
		err = f.store.FinishInstance(ctx, end)
		if errors.Is(err, store.ErrStaleApp) {
			f.apps.Forget(in.App)
			if app, err = f.apps.Get(ctx, in.App); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		f.finished(app, end, skipped)
		return nil
	}
	return store.ErrStaleApp
}

// prepare decides what is stored with the end of an instance.
func (f *finisher) prepare(ctx context.Context, app *plan.App, in proto.Instance, state proto.InstanceState, reason string) (store.Finish, *plan.Skipped, error) {
	end := store.Finish{Spec: in.InstanceSpecifier, State: state, Reason: clip(reason), Generation: app.Generation}
	var skipped *plan.Skipped
	if in.Recurring && app.MakesNext() {
		now := f.clock.now()
		skips, err := skipsSince(ctx, f.store, app, in.PeriodStart, now)
		if err != nil {
			return end, nil, err
		}
		var next *plan.NewInstance
		next, skipped = app.NextInstance(&in, state == proto.InstanceFailed, now, skips)
		end.Next, end.Events = newInstance(next), skipped.Events(in.App)
	}
	if state == proto.InstanceFailed {
		end.Events = append(end.Events, store.AppEvent{App: in.App, Kind: proto.AppFailed,
			PeriodStart: in.PeriodStart, PeriodTo: in.PeriodStart, Count: 1, Reason: clip(in.Name + ": " + reason)})
		return end, skipped, nil
	}
	var err error
	end.Signals, err = f.signalsOf(ctx, in)
	return end, skipped, err
}

// finished counts an instance that ended, and wakes the roles that have work by it.
func (f *finisher) finished(app *plan.App, end store.Finish, skipped *plan.Skipped) {
	f.metrics.ended.WithLabelValues(end.State.String()).Inc()
	if skipped != nil {
		f.metrics.skipped.Add(float64(skipped.Count))
	}
	if len(end.Signals) > 0 {
		wait.Nudge(f.signalNow)
	}
	// Another instance of the app may wait for this one, or the next one be due before
	// anyone looks.
	if app.Overlap() == plan.OverlapQueue || end.Next != nil && end.Next.Due.Before(f.clock.now().Add(f.poll)) {
		wait.Nudge(f.fetchNow)
	}
}

// signalsOf returns the periods of dependent apps that an instance that SUCCEEDED may
// complete.
func (f *finisher) signalsOf(ctx context.Context, in proto.Instance) ([]signal, error) {
	dependents, err := f.store.Dependents(ctx, in.App)
	if err != nil || len(dependents) == 0 {
		return nil, err
	}
	var out []signal
	for _, name := range slices.Sorted(maps.Keys(dependents)) {
		app, err := f.apps.Get(ctx, name)
		if err != nil {
			return nil, err
		}
		if app.Recurring() || app.Def.Depends[in.App] != dependents[name] {
			// It has changed since it was loaded.
			fresh, err := f.apps.Fresh(ctx, name)
			if err != nil {
				return nil, err
			}
			if app = fresh[name]; app == nil || app.Recurring() {
				continue
			}
		}
		if o, ok := app.Calendar.AtOrBefore(in.PeriodStart); ok {
			out = append(out, signal{App: name, PeriodStart: o.Start})
		}
	}
	return out, nil
}

// skipsSince reads what was skipped of an app from a period on; nothing of one that
// does not catch up, or is up to date.
func skipsSince(ctx context.Context, s *store.Store, app *plan.App, from, now time.Time) (plan.Skips, error) {
	if !app.CatchesUp() {
		return nil, nil
	}
	if o, ok := app.Calendar.Next(from); !ok || app.DueAt(o.Start).After(now) {
		return nil, nil
	}
	return s.SkippedIn(ctx, app.Def.Name, from, now.Add(time.Second))
}

// newInstance returns an instance as the store takes it.
func newInstance(n *plan.NewInstance) *store.NewInstance { return (*store.NewInstance)(n) }
