package engine

import (
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
)

// An undo that keeps failing: a user has it tried at once, or gives it up, and then the
// app goes on.
func TestUndoThatKeepsFailing(t *testing.T) {
	t.Parallel()
	const first, second = "2000-01-01-0100-tick", "2000-01-01-0200-tick"
	inWorld(t, func(w *world) {
		tries := 0
		w.do("tick", func(in proto.Instance) (Outcome, error) {
			if in.Name == first {
				return fails(in)
			}
			return ok(in), nil
		})
		w.undo["tick"] = func(proto.Instance) (Outcome, error) {
			tries++
			return Outcome{Done: true, Reason: "still in use"}, nil
		}
		e := w.engine("m1")
		w.put(e, proto.App{Name: "tick", Request: "x", Undo: "unx", Overlap: plan.OverlapQueue, Every: proto.Duration(time.Hour)})
		w.run(e)
		ctx := w.t.Context()
		undo := func(app, instance, do string) error {
			return e.UndoInstance(ctx, app, proto.UndoInstance{Instance: instance, Do: do}, "ada")
		}
		at(hours(2.5))
		count := func() int {
			w.mu.Lock()
			defer w.mu.Unlock()
			return tries
		}
		before := count()
		must(w.t, undo("tick", first, proto.UndoRetry))
		after(time.Second)
		if now := count(); now != before+1 {
			w.t.Errorf("it was tried %d times, and a second after retry %d", before, now)
		}
		errorCode(w.t, undo("tick", second, proto.UndoRetry), proto.CodeNotFound)
		errorCode(w.t, undo("tock", first, proto.UndoRetry), proto.CodeNotFound)
		errorCode(w.t, undo("tick", first, "stop"), proto.CodeInvalid)

		must(w.t, undo("tick", first, proto.UndoGiveUp))
		in := w.instances("tick")[0]
		if want := "no luck; the undo failed"; in.State != proto.InstanceFailed || len(in.Reason) < len(want) || in.Reason[:len(want)] != want {
			w.t.Errorf("it is %s: %s", in.State, in.Reason)
		}
		if want := "; its undo was abandoned by ada"; in.Reason[max(0, len(in.Reason)-len(want)):] != want {
			w.t.Errorf("the reason is %q, want it to end with %q", in.Reason, want)
		}
		errorCode(w.t, undo("tick", first, proto.UndoGiveUp), proto.CodeNotFound)
		before = count()
		at(hours(3.5))
		w.wantStates("tick", map[string]string{"2000-01-01-0100": "FAILED", "2000-01-01-0200": "SUCCEEDED", "2000-01-01-0300": "SUCCEEDED", "2000-01-01-0400": "QUEUED"})
		w.wantSound("tick")
		if now := count(); now != before {
			w.t.Errorf("it was undone %d times after it was given up", now-before)
		}
	})
}
