package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/schedule/ledger"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

// signal is a period of an app that may be complete now.
type signal = store.Signal

const (
	maxSignals    = 1000
	signalWorkers = 8
)

// dependents is the role that makes the instances of apps that depend on others. Every
// member looks at every signal: the store lets one of them make the instance.
type dependents struct {
	store    *store.Store
	apps     *ledger.Apps
	upstream *ledger.Upstream
	extras   *extras
	log      *slog.Logger
	wake     chan struct{}
	fetchNow chan<- struct{}
	poll     time.Duration
}

// run looks at signals until ctx ends.
func (d *dependents) run(ctx context.Context) {
	t := &trouble{log: d.log, msg: "making instances of apps that depend on others"}
	every(ctx, 2*d.poll, d.wake, t, func(ctx context.Context) error {
		list, err := d.store.Signals(ctx, maxSignals)
		if err != nil {
			return err
		}
		var g errgroup.Group
		g.SetLimit(signalWorkers)
		for _, ofApp := range byApp(list) {
			g.Go(func() error {
				for _, s := range ofApp {
					if err := d.resolve(ctx, s); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if len(list) == maxSignals {
			wait.Nudge(d.wake)
		}
		return nil
	})
}

// byApp returns the signals of each app, those of earlier periods first: they start in
// that order.
func byApp(list []signal) map[string][]signal {
	out := map[string][]signal{}
	for _, s := range list {
		out[s.App] = append(out[s.App], s)
	}
	for _, ofApp := range out {
		slices.SortFunc(ofApp, func(a, b signal) int { return a.PeriodStart.Compare(b.PeriodStart) })
	}
	return out
}

// resolve looks whether the period of a signal is complete, and makes its instance if
// so. If not, the signal has done its work: the next success gives another one.
func (d *dependents) resolve(ctx context.Context, s signal) error {
	fresh, err := d.apps.Fresh(ctx, s.App)
	if err != nil {
		return err
	}
	var n *store.NewInstance
	if app := fresh[s.App]; app != nil && !app.Recurring() {
		// The grid may have changed since: then the signal is of no period any more.
		if o, ok := app.Calendar.AtOrBefore(s.PeriodStart); ok && o.Start.Equal(s.PeriodStart) {
			if n, err = d.instance(ctx, app, o); err != nil {
				return err
			}
		}
	}
	made, err := d.store.SettleSignal(ctx, s, n)
	if errors.Is(err, store.ErrNotUpdated) || errors.Is(err, store.ErrNotFound) {
		return nil // another member was faster, or the app was removed meanwhile
	}
	if made {
		wait.Nudge(d.fetchNow)
	}
	return err
}

// instance returns the instance of a period if all that it needs is done, else nil.
func (d *dependents) instance(ctx context.Context, app *plan.App, o calendar.Occurrence) (*store.NewInstance, error) {
	ok, err := d.upstream.Complete(ctx, app, o)
	if err != nil || !ok {
		return nil, err
	}
	return d.extras.make(ctx, app, o)
}
