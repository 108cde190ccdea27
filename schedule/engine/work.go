package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

const (
	// defaultCheck is when an instance is looked at again if its hook does not say when.
	defaultCheck = 30 * time.Second
	// An undo that failed is tried again after undoFirst, then after twice that, and so
	// on up to undoLimit.
	undoFirst = 5 * time.Second
	undoLimit = 10 * time.Minute
	// maxReason bounds what is stored of a reason, in bytes.
	maxReason = 2000
)

// work is what is done with an instance between its claim and its release. In-flight work
// is stored even if the engine ends.
type work struct {
	x   *Executor
	app *plan.App
	in  proto.Instance
}

func (w *work) run(ctx context.Context) error {
	for {
		switch w.in.State {
		case proto.InstanceRunning:
			if again, err := w.runOnce(ctx); err != nil || !again {
				return err
			}
		case proto.InstanceToUndo:
			if err := w.move(ctx, proto.InstanceUndoing, w.in.Reason); err != nil {
				return err
			}
		case proto.InstanceUndoing:
			return w.undo(ctx)
		default:
			return errDropped
		}
	}
}

// runOnce calls the hook. It returns true if there is more to do at once: to undo.
func (w *work) runOnce(ctx context.Context) (again bool, err error) {
	out, err := w.call(ctx, w.hook())
	switch {
	case err != nil:
		return false, w.parkUnknown(ctx, err)
	case !out.Done:
		return false, w.park(ctx, out, out.Reason)
	case out.OK:
		return false, w.finish(ctx, proto.InstanceSucceeded, "", out)
	}
	if out.RequestID != "" && w.in.RequestID == "" {
		w.in.RequestID = out.RequestID
	}
	reason := out.Reason
	if reason == "" {
		reason = "failed"
	}
	return true, w.move(ctx, proto.InstanceToUndo, clip(reason))
}

// hook is the call for an instance that runs: to run it, or to stop it after its
// timeout.
func (w *work) hook() func(context.Context, proto.App, proto.Instance) (Outcome, error) {
	h := w.x.hook
	if w.in.TimeoutAt == nil || w.x.clock.now().Before(*w.in.TimeoutAt) {
		return h.Run
	}
	if s, ok := h.(Stopper); ok {
		return s.Stop
	}
	return func(ctx context.Context, app proto.App, in proto.Instance) (Outcome, error) {
		out, err := h.Run(ctx, app, in)
		if err == nil && !out.Done {
			out = Outcome{Done: true, Reason: timedOut(app)}
		}
		return out, err
	}
}

func timedOut(app proto.App) string {
	return fmt.Sprintf("timed out: it had %s", time.Duration(app.Timeout))
}

func (w *work) undo(ctx context.Context) error {
	out, err := w.call(ctx, w.x.hook.Undo)
	failed, _, _ := strings.Cut(w.in.Reason, undoSeparator)
	switch {
	case err != nil:
		return w.parkUnknown(ctx, err)
	case !out.Done:
		return w.park(ctx, out, w.in.Reason)
	case out.OK:
		return w.finish(ctx, proto.InstanceFailed, failed, out)
	}
	tries := w.in.UndoTries + 1
	w.x.metrics.undoFailures.Inc()
	ctx, cancel := ending(ctx)
	defer cancel()
	err = w.x.store.AddEvents(ctx, []store.AppEvent{{App: w.in.App, Kind: proto.AppUndoFailed,
		PeriodStart: w.in.PeriodStart, PeriodTo: w.in.PeriodStart, Count: 1, Reason: clip(w.in.Name + ": " + out.Reason)}})
	if err != nil {
		return err
	}
	return w.release(ctx, store.Park{
		State: proto.InstanceToUndo, UndoTries: tries, CheckAfter: backoff(int(tries), undoFirst, undoLimit),
		Reason: clip(fmt.Sprintf("%s%s%d times, last: %s", failed, undoSeparator, tries, out.Reason)),
	})
}

// undoSeparator stands between the reasons of an instance that failed and of its undo.
const undoSeparator = "; the undo failed "

// call calls a hook. If it panics, that is an error of this instance alone.
func (w *work) call(ctx context.Context, hook func(context.Context, proto.App, proto.Instance) (Outcome, error)) (out Outcome, err error) {
	if err := context.Cause(ctx); err != nil {
		return out, err
	}
	defer func() {
		if p := recover(); p != nil {
			w.x.log.Error("a hook panicked", "instance", w.in.Name, "app", w.in.App, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("a hook panicked: %v", p)
		}
	}()
	return hook(ctx, w.app.Def, w.in)
}

// park releases the instance until something wakes it, or its time comes.
func (w *work) park(ctx context.Context, out Outcome, reason string) error {
	w.x.errors.forget(keyOf(w.in))
	after := out.CheckAfter
	if after <= 0 {
		after = defaultCheck
	}
	if w.in.State == proto.InstanceRunning && w.in.TimeoutAt != nil {
		// At its timeout it is looked at. If that has passed, it is being stopped.
		if left := w.in.TimeoutAt.Sub(w.x.clock.now()); left > 0 {
			after = min(after, left)
		}
	}
	p := store.Park{CheckAfter: after, WaitsFor: out.WaitsFor, Reason: clip(reason)}
	if w.in.State == proto.InstanceUndoing {
		p.UndoRequestID = out.RequestID
	} else {
		p.RequestID = out.RequestID
	}
	return w.release(ctx, p)
}

// release stores that the instance waits; then no member has it.
func (w *work) release(ctx context.Context, p store.Park) error {
	ctx, cancel := ending(ctx)
	defer cancel()
	_, err := w.x.store.ParkInstance(ctx, w.in.InstanceSpecifier, p)
	w.x.lookAfter(p.CheckAfter)
	return err
}

// parkUnknown releases the instance since its status is unknown.
func (w *work) parkUnknown(ctx context.Context, cause error) error {
	p := store.Park{WaitsFor: w.in.WaitsFor, Reason: w.in.Reason}
	if ctx.Err() == nil {
		failures := w.x.errors.add(keyOf(w.in))
		p.CheckAfter = backoff(failures, time.Second, time.Minute)
		w.x.log.Warn("instance status unknown", "instance", w.in.Name, "app", w.in.App, "failures", failures, "error", cause)
		if w.in.State == proto.InstanceRunning {
			p.Reason = clip("not known now: " + proto.Body(cause).Message)
		}
	}
	return w.release(ctx, p)
}

func (w *work) move(ctx context.Context, to proto.InstanceState, reason string) error {
	ctx, cancel := ending(ctx)
	defer cancel()
	in, err := w.x.store.MoveInstance(ctx, w.in.InstanceSpecifier, to, reason)
	if err != nil {
		return err
	}
	w.in = in
	return nil
}

// ending is a context for storing the outcome of work, even if the work was cut off.
func ending(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	}
	return context.WithoutCancel(ctx), func() {}
}

func clip(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(s[:maxReason-3], "") + "..."
}

func (w *work) finish(ctx context.Context, state proto.InstanceState, reason string, out Outcome) error {
	w.x.errors.forget(keyOf(w.in))
	return w.x.finisher.finish(ctx, w.app, w.in, state, reason, out.Result)
}

// lookAfter has the store asked for what is due if that is before it would be.
func (x *Executor) lookAfter(d time.Duration) {
	if d < x.poll {
		wait.Nudge(x.fetchNow)
	}
}
