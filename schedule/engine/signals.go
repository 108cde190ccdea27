package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// signal is a period of an app that may be complete now.
type signal = store.Signal

const (
	maxSignals    = 1000
	signalWorkers = 8
)

// settleSignals makes the instances of apps that depend on others. Every member looks
// at every signal: the store lets one of them make the instance.
func (e *Engine) settleSignals(ctx context.Context) {
	t := &trouble{log: e.log, msg: "making instances of apps that depend on others"}
	every(ctx, 2*e.cfg.Poll, e.signalWake, t, func(ctx context.Context) error {
		list, err := e.store.Signals(ctx, maxSignals)
		if err != nil {
			return err
		}
		var g errgroup.Group
		g.SetLimit(signalWorkers)
		for _, ofApp := range byApp(list) {
			g.Go(func() error {
				for _, s := range ofApp {
					if err := e.settle(ctx, s); err != nil {
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
			wait.Nudge(e.signalWake)
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

// settle looks whether the period of a signal is complete, and makes its instance if
// so. If not, the signal has done its work: the next success gives another one.
func (e *Engine) settle(ctx context.Context, s signal) error {
	fresh, err := e.jobs.fresh(ctx, s.App)
	if err != nil {
		return err
	}
	var n *store.NewInstance
	if j := fresh[s.App]; j != nil && !j.recurring() {
		// The grid may have changed since: then the signal is of no period any more.
		if o, ok := j.cal.AtOrBefore(s.PeriodStart); ok && o.Start.Equal(s.PeriodStart) {
			if n, err = e.dependent(ctx, j, o); err != nil {
				return err
			}
		}
	}
	made, err := e.store.SettleSignal(ctx, s, n)
	if errors.Is(err, store.ErrNotUpdated) || errors.Is(err, store.ErrNotFound) {
		return nil // another member was faster, or the app was removed meanwhile
	}
	if made {
		wait.Nudge(e.fetchWake)
	}
	return err
}

// dependent returns the instance of a period if all that it needs is done, else nil.
func (e *Engine) dependent(ctx context.Context, j *Job, o calendar.Occurrence) (*store.NewInstance, error) {
	ok, err := e.complete(ctx, j, o)
	if err != nil || !ok {
		return nil, err
	}
	return e.extra(ctx, j, o)
}

// extra returns an instance that is not a recurring one, due now.
func (e *Engine) extra(ctx context.Context, j *Job, o calendar.Occurrence) (*store.NewInstance, error) {
	n := j.instance(o)
	n.Recurring = false
	now := e.clock.now()
	n.Due = now
	if j.recurring() {
		return n, nil
	}
	var err error
	if n.Conf, err = e.conf(ctx, j, o); err != nil {
		return nil, err
	}
	n.Due = now.Add(j.due(o.Start).Sub(o.Start)) // the jitter
	if delay := time.Duration(j.App.FailureDelay); delay > 0 {
		last, err := e.store.LastInstance(ctx, j.App.Name)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return nil, err
		case last.State == proto.InstanceFailed && last.FinishedAt != nil && last.FinishedAt.Add(delay).After(n.Due):
			n.FetchAt, n.Reason = last.FinishedAt.Add(delay), reasonDelay
		}
	}
	return n, nil
}
