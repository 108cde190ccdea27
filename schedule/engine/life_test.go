package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

func TestUndo(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.do("tick", fails)
		tries := []time.Duration{}
		w.undo["tick"] = func(in proto.Instance) (Outcome, error) {
			tries = append(tries, time.Since(epoch)-hours(1))
			if int(in.UndoTries) != len(tries)-1 && in.Number == 1 {
				w.t.Errorf("try %d to undo says that it is try %d", len(tries), in.UndoTries+1)
			}
			if len(tries) < 4 {
				return Outcome{Done: true, Reason: "still in use"}, nil
			}
			return Outcome{Done: true, OK: true}, nil
		}
		e := w.engine("m1")
		w.put(e, proto.App{Name: "tick", Request: "x", Undo: "unx", Every: proto.Duration(time.Hour)})
		w.run(e)
		at(hours(1) + time.Second)
		in := w.instances("tick")[0]
		if want := "no luck; the undo failed 1 times, last: still in use"; in.State != proto.InstanceToUndo || in.Reason != want {
			w.t.Errorf("after an undo that failed it is %s: %s", in.State, in.Reason)
		}
		at(hours(1.5))
		w.mu.Lock()
		tries = slices.Clone(tries)
		w.mu.Unlock()
		w.wantStates("tick", map[string]string{"2000-01-01-0100": "FAILED", "2000-01-01-0200": "QUEUED"})
		if in := w.instances("tick")[0]; in.Reason != "no luck" || in.UndoTries != 3 {
			w.t.Errorf("it failed with %q after %d undos that failed", in.Reason, in.UndoTries)
		}
		for i := 2; i < len(tries); i++ {
			if tries[i]-tries[i-1] < (tries[i-1]-tries[i-2])*5/4 {
				w.t.Errorf("undo was tried after %v: the waits do not grow", tries)
			}
		}
		if n := len(w.eventsOf("tick", proto.AppUndoFailed)); n != 3 {
			w.t.Errorf("%d events of undos that failed, want 3", n)
		}
		if n := len(w.eventsOf("tick", proto.AppFailed)); n != 1 {
			w.t.Errorf("%d events of failures, want 1", n)
		}
	})
}

func TestHookThatDoesNotKnow(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		calls := 0
		w.do("tick", func(in proto.Instance) (Outcome, error) {
			switch calls++; {
			case calls == 3:
				panic("a bug")
			case calls < 5:
				return Outcome{}, errNow
			}
			return ok(in), nil
		})
		e := w.engine("m1")
		w.put(e, proto.App{Name: "tick", Request: "x", Every: proto.Duration(time.Hour)})
		w.run(e)
		at(hours(1.5))
		w.wantStates("tick", map[string]string{"2000-01-01-0100": "SUCCEEDED"})
		if calls != 5 {
			w.t.Errorf("it was called %d times, want 5", calls)
		}
	})
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.do("tick", lasts(hours(5)))
		e := w.engine("m1")
		w.put(e, proto.App{Name: "tick", Request: "x", Every: proto.Duration(time.Hour), Timeout: proto.Seconds(100 * time.Second)})
		w.run(e)
		at(hours(1) + 99*time.Second)
		w.wantStates("tick", map[string]string{"2000-01-01-0100": "RUNNING"})
		at(hours(1) + 101*time.Second)
		w.wantStates("tick", map[string]string{"2000-01-01-0100": "FAILED"})
		if in := w.instances("tick")[0]; in.Reason != "timed out: it had 1m40s" {
			w.t.Errorf("it failed since: %s", in.Reason)
		}
	})
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1")
		w.put(e, minutely(nil))
		w.run(e)
		at(2*time.Minute + 30*time.Second)
		must(w.t, e.PauseApp(w.t.Context(), "tick", true))
		at(10*time.Minute + 30*time.Second)
		w.wantRan("tick", "2000-01-01-0001", "2000-01-01-0002")
		must(w.t, e.PauseApp(w.t.Context(), "tick", false))
		at(11*time.Minute + 30*time.Second)
		w.wantRan("tick", "2000-01-01-0001", "2000-01-01-0002", "2000-01-01-0010", "2000-01-01-0011")
		errorCode(w.t, e.PauseApp(w.t.Context(), "tock", true), proto.CodeNotFound)
	})
}

func TestDeleteWhileItRuns(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.do("tick", lasts(10*time.Minute))
		e := w.engine("m1")
		w.put(e, proto.App{Name: "tick", Request: "x", Every: proto.Duration(time.Hour)})
		w.run(e)
		at(hours(1) + time.Minute)
		must(w.t, e.DeleteApp(w.t.Context(), "tick"))
		errorCode(w.t, e.DeleteApp(w.t.Context(), "tick"), proto.CodeNotFound)
		at(hours(3))
		w.wantStates("tick", map[string]string{"2000-01-01-0100": "SUCCEEDED"})
		if n := len(w.instances("tick")); n != 1 {
			w.t.Errorf("it has %d instances, want the one that ran", n)
		}
		// It comes back: its numbers go on.
		w.put(e, proto.App{Name: "tick", Request: "x", Every: proto.Duration(time.Hour)})
		at(hours(4.5))
		w.wantRan("tick", "2000-01-01-0100", "2000-01-01-0400")
		w.wantSound("tick")
	})
}

func TestDeleteOfWhatOthersNeed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1")
		w.put(e, proto.App{Name: "up", Request: "x", Starts: "hourly"})
		w.put(e, proto.App{Name: "down", Request: "x", Depends: map[string]string{"up": "hourly"}})
		errorCode(w.t, e.DeleteApp(w.t.Context(), "up"), proto.CodeConflict)
		must(w.t, e.DeleteApp(w.t.Context(), "down"))
		must(w.t, e.DeleteApp(w.t.Context(), "up"))
	})
}

func TestChangeWhileItRuns(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.do("tick", lasts(10*time.Minute))
		e, other := w.engine("m1"), w.engine("m2")
		w.put(e, proto.App{Name: "tick", Request: "x", Every: proto.Duration(time.Hour)})
		w.run(e)
		at(hours(1) + time.Minute)
		// Over another member, so that this one has to notice.
		changed, err := other.PutApp(w.t.Context(), proto.App{Name: "tick", Request: "x", Every: proto.Duration(2 * time.Hour)})
		must(w.t, err)
		if !changed {
			w.t.Error("nothing changed")
		}
		at(hours(4.5))
		w.wantRan("tick", "2000-01-01-0100", "2000-01-01-0200", "2000-01-01-0400")
		w.wantSound("tick")
		changed, err = other.PutApp(w.t.Context(), proto.App{Name: "tick", Request: "x", Every: proto.Duration(2 * time.Hour)})
		must(w.t, err)
		if changed {
			w.t.Error("the same definition is a change")
		}
	})
}

func TestSync(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		hourly := func(name string) proto.App { return proto.App{Name: name, Request: "x", Starts: "hourly"} }
		must(w.t, w.engine("m1", specs(hourly("a"), hourly("b"))).Sync(w.t.Context()))
		e := w.engine("m2", specs(hourly("b"), hourly("c"), hourly("mine")))
		w.put(e, hourly("mine"))
		must(w.t, e.Sync(w.t.Context()))
		list, err := e.Apps(w.t.Context(), "", 0)
		must(w.t, err)
		got := map[string]string{}
		for _, a := range list {
			got[a.Name] = a.Source
		}
		if len(got) != 3 || got["b"] != proto.AppFromSpecs || got["c"] != proto.AppFromSpecs || got["mine"] != proto.AppFromAPI {
			w.t.Errorf("apps are %v", got)
		}
		_, err = e.PutApp(w.t.Context(), proto.App{Name: "b", Request: "x", Starts: "daily"})
		errorCode(w.t, err, proto.CodeConflict)
		errorCode(w.t, e.DeleteApp(w.t.Context(), "b"), proto.CodeConflict)
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.do("up", func(in proto.Instance) (Outcome, error) {
			if in.Number == 2 {
				return lasts(50 * time.Minute)(in)
			}
			return ok(in), nil
		})
		e := w.engine("m1")
		w.put(e, proto.App{Name: "up", Request: "x", Starts: "hourly", Deadline: proto.Seconds(10 * time.Minute)})
		w.put(e, proto.App{Name: "down", Request: "x", Depends: map[string]string{"up": "hourly"}, Deadline: proto.Seconds(15 * time.Minute)})
		w.run(e)
		w.run(w.engine("m2"))
		at(hours(6.5))
		for _, app := range []string{"up", "down"} {
			evs := w.eventsOf(app, proto.AppLate)
			if len(evs) != 1 || evs[0].Count != 1 || evs[0].PeriodStart.Sub(epoch) != hours(2) {
				w.t.Errorf("late of %s: %+v, want 02:00 once", app, evs)
			}
		}
		list, err := e.Periods(w.t.Context(), "up", time.Time{}, time.Time{}, 0)
		must(w.t, err)
		for _, p := range list {
			if p.Late != (p.Start.Sub(epoch) == hours(2)) {
				w.t.Errorf("%s: late is %t", p.Name, p.Late)
			}
		}
	})
}
