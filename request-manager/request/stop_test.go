package request

import (
	"context"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

func TestStopInEveryState(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		stop := w.run(m)
		suspended := w.suspended(m, 1)[0]
		stop()
		m = w.manager()
		w.run(m)
		pending := w.create(m, "deploy")
		for _, id := range []string{pending, suspended} {
			must(w.t, m.Stop(w.t.Context(), id))
			if r := w.want(id, proto.StateStopped); r.Reason != "stopped by request" || !r.StopRequested {
				w.t.Errorf("request %+v", r)
			}
			must(w.t, m.Stop(w.t.Context(), id)) // twice is harmless
		}
		jr := w.runner(m, "jr-1", "http://jr-1")
		running := w.create(m, "deploy")
		after(time.Second)
		must(w.t, m.Stop(w.t.Context(), running))
		if len(w.stopped) != 1 || w.stopped[0] != "http://jr-1 "+running {
			w.t.Errorf("runners were told to stop %v", w.stopped)
		}
		w.want(running, proto.StateRunning) // until its runner says so
		jr.report(running, proto.StateComplete)
		w.want(running, proto.StateStopped)
		must(w.t, m.Stop(w.t.Context(), running))

		for _, final := range []proto.State{proto.StateComplete, proto.StateFail} {
			id := w.create(m, "deploy")
			after(time.Second)
			jr.report(id, final)
			errorCode(w.t, m.Stop(w.t.Context(), id), proto.CodeConflict)
			w.want(id, final)
		}
		errorCode(w.t, m.Stop(w.t.Context(), "no-such-request"), proto.CodeNotFound)
		after(time.Minute)
		w.wantSent(pending)
		w.wantSent(suspended)
	})
}

// The user has an answer soon; the runner hears of the stop with its heartbeat.
func TestStopDoesNotWaitForARunnerThatHangs(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stopAnswer = func(ctx context.Context, _ string) error { return hang(ctx) }
		m := w.manager()
		w.run(m)
		jr := w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		after(time.Second)
		start := time.Now()
		must(w.t, m.Stop(w.t.Context(), id))
		if d := time.Since(start); d > 2*time.Second {
			w.t.Errorf("the answer took %s", d)
		}
		after(2 * time.Second)
		if a := jr.lastAnswer(); len(a.Stop) != 1 || a.Stop[0] != (proto.RunningChain{RequestID: id, Epoch: 1}) {
			w.t.Errorf("the answer to the heartbeat is %+v", a)
		}
	})
}

// It is refused after the stop: it must not become PENDING again.
func TestAStopWhileARequestIsOnItsWay(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.answers(func(ctx context.Context, s sending) error {
			must(w.t, m.Stop(ctx, s.id))
			return errFull
		})
		w.run(m)
		w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		after(time.Minute)
		w.want(id, proto.StateStopped)
		w.wantSent(id, "start at http://jr-1 epoch 1")
	})
}
