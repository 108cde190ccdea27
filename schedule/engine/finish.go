package engine

import (
	"context"
	"errors"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// finish ends the instance: in one transaction it goes to the archive, the next one
// is made, and apps that depend on it get a signal.
func (w *work) finish(ctx context.Context, state proto.InstanceState, reason string, out Outcome) error {
	e := w.r.e
	w.r.errors.forget(keyOf(w.in))
	ctx, cancel := ending(ctx)
	defer cancel()
	for range maxReloads {
		f := store.Finish{
			Spec: w.in.InstanceSpecifier, State: state, Reason: clip(reason), Result: out.Result, Generation: w.job.Generation,
		}
		var gone *skipped
		now := e.clock.now()
		if w.in.Recurring && w.job.makesNext() {
			skips, err := e.skipsSince(ctx, w.job, w.in.PeriodStart, now)
			if err != nil {
				return err
			}
			f.Next, gone = w.job.next(&w.in, state == proto.InstanceFailed, now, skips)
			f.Events = gone.events(w.in.App)
		}
		if state == proto.InstanceFailed {
			f.Events = append(f.Events, store.AppEvent{App: w.in.App, Kind: proto.AppFailed,
				PeriodStart: w.in.PeriodStart, PeriodTo: w.in.PeriodStart, Count: 1, Reason: clip(w.in.Name + ": " + reason)})
		} else {
			var err error
			if f.Signals, err = e.signalsOf(ctx, w.in); err != nil {
				return err
			}
		}
		err := e.store.FinishInstance(ctx, f)
		if errors.Is(err, store.ErrStaleApp) {
			e.jobs.forget(w.in.App)
			if w.job, err = e.jobs.get(ctx, w.in.App); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		e.metrics.ended.WithLabelValues(state.String()).Inc()
		if gone != nil {
			e.metrics.skipped.Add(float64(gone.count))
		}
		if len(f.Signals) > 0 {
			wait.Nudge(e.signalWake)
		}
		// Another instance of the app may wait for this one, or the next one be due before
		// anyone looks.
		if w.job.overlap() == overlapQueue || f.Next != nil && f.Next.Due.Before(now.Add(e.cfg.Poll)) {
			wait.Nudge(e.fetchWake)
		}
		return nil
	}
	return store.ErrStaleApp
}
