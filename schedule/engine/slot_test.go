package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

func (w *world) skipReasons(app string) (out []string) {
	for _, ev := range w.eventsOf(app, proto.AppSkipped) {
		out = append(out, ev.Reason)
	}
	return out
}

func (w *world) queued(app string) proto.Instance {
	w.t.Helper()
	for _, in := range w.instances(app) {
		if in.State == proto.InstanceQueued && in.Recurring {
			return in
		}
	}
	w.t.Fatalf("no recurring instance of %s waits", app)
	return proto.Instance{}
}

// A backfill does not push out what the calendar makes: that goes first as soon as the
// slot is free, and what could not run meanwhile says why.
func TestCalendarGoesBeforeBackfill(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		overlap string
		takes   time.Duration
		regular []string // ran by 00:45
		skips   []string
	}{
		{plan.OverlapSkip, 200 * time.Second, []string{"0010", "0020", "0030", "0040"}, nil},
		{plan.OverlapQueue, 200 * time.Second, []string{"0010", "0020", "0030", "0040"}, nil},
		{plan.OverlapQueue, 500 * time.Second, []string{"0010", "0020", "0030", "0040"}, nil},
		{plan.OverlapSkip, 1300 * time.Second, []string{"0010", "0040"}, []string{"overlap: a backfill ran", "overlap: a backfill ran"}},
	} {
		t.Run(tc.overlap+" "+tc.takes.String(), func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				e := w.engine("m1")
				w.put(e, proto.App{Name: "tick", Request: "x", Every: proto.Duration(10 * time.Minute), Overlap: tc.overlap})
				w.run(e)
				at(19 * time.Minute)
				w.do("tick", func(in proto.Instance) (Outcome, error) {
					if in.Recurring {
						return ok(in), nil
					}
					return lasts(tc.takes)(in)
				})
				_, err := e.RunPeriods(w.t.Context(), "tick", proto.RunPeriods{From: "1999-12-31T00:00:00Z", To: "1999-12-31T00:20:00Z"})
				must(w.t, err)
				at(45 * time.Minute)
				var regular []string
				for _, name := range w.ran("tick") {
					if strings.HasPrefix(name, "2000-") {
						regular = append(regular, name[11:15])
					}
				}
				if !slices.Equal(regular, tc.regular) {
					w.t.Errorf("of the calendar ran %q, want %q", regular, tc.regular)
				}
				if got := w.skipReasons("tick"); !slices.Equal(got, tc.skips) {
					w.t.Errorf("skipped: %q, want %q", got, tc.skips)
				}
				w.wantSound("tick")
			})
		})
	}
}

// What is skipped says what held the instance.
func TestSkipsSayWhatHeldTheInstance(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		app     proto.App
		hold    func(w *world, e *Engine) // after 01:30, until 04:30
		release func(w *world, e *Engine)
		want    string
	}{
		{"host away", proto.App{Host: "h"}, func(w *world, _ *Engine) { w.setDown("h", true) }, func(w *world, _ *Engine) { w.setDown("h", false) },
			"missed: waits for h"},
		{"paused", proto.App{}, func(w *world, e *Engine) { must(w.t, e.PauseApp(w.t.Context(), "tick", true)) },
			func(w *world, e *Engine) { must(w.t, e.PauseApp(w.t.Context(), "tick", false)) }, "missed: the app was paused"},
		{"paused, and missed ones do not run", proto.App{Missed: plan.MissedNone},
			func(w *world, e *Engine) { must(w.t, e.PauseApp(w.t.Context(), "tick", true)) },
			func(w *world, e *Engine) { must(w.t, e.PauseApp(w.t.Context(), "tick", false)) }, "missed: the app was paused"},
		{"failed", proto.App{FailureDelay: proto.Seconds(3 * time.Hour)}, func(w *world, _ *Engine) { w.do("tick", fails) },
			func(w *world, _ *Engine) { w.do("tick", nil) }, "missed: " + plan.ReasonDelay},
		{"undo failed", proto.App{}, func(w *world, _ *Engine) {
			w.do("tick", fails)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.undo["tick"] = fails
		}, func(w *world, _ *Engine) {
			w.do("tick", nil)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.undo["tick"] = nil
		}, "overlap: 2000-01-01-0200-tick failed, and so did its undo, "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				tc.app.Name, tc.app.Request, tc.app.Every = "tick", "x", proto.Duration(time.Hour)
				e := w.engine("m1")
				w.put(e, tc.app)
				w.run(e)
				at(hours(1.5))
				tc.hold(w, e)
				at(hours(4.5))
				tc.release(w, e)
				at(hours(7.9))
				got := w.skipReasons("tick")
				if len(got) == 0 || !strings.HasPrefix(got[0], tc.want) {
					w.t.Errorf("skipped: %q, want %q", got, tc.want)
				}
			})
		})
	}
}

// Instances of a paused app say so, whenever they were made, and no longer once it goes
// on.
func TestPausedInstancesSayso(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.do("tick", lasts(10*time.Minute))
		e := w.engine("m1")
		app := proto.App{Name: "tick", Request: "x", Every: proto.Duration(time.Hour)}
		w.put(e, app)
		w.run(e)
		wait := func(want string) {
			w.t.Helper()
			if in := w.queued("tick"); in.Reason != want {
				w.t.Errorf("%s waits: %q, want %q", in.Name, in.Reason, want)
			}
		}
		at(hours(0.5))
		must(w.t, e.PauseApp(w.t.Context(), "tick", true))
		wait(store.ReasonPaused)
		must(w.t, e.PauseApp(w.t.Context(), "tick", false))
		wait("")
		at(hours(1) + time.Minute) // it runs
		must(w.t, e.PauseApp(w.t.Context(), "tick", true))
		at(hours(1.5)) // the next one was made
		wait(store.ReasonPaused)
		app.Every = proto.Duration(2 * time.Hour)
		w.put(e, app) // it was moved
		wait(store.ReasonPaused)
		must(w.t, e.PauseApp(w.t.Context(), "tick", false))
		wait("")
	})
}
