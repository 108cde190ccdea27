package engine

import (
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
)

func (w *world) sinceOf(app string) time.Duration {
	w.t.Helper()
	row, err := w.store.App(w.t.Context(), app)
	must(w.t, err)
	return row.Since.Sub(epoch)
}

// From when on periods are expected moves with the times of an app, and only with them,
// whoever changes it: the API, or the specs.
func TestSinceMovesWithTheTimes(t *testing.T) {
	t.Parallel()
	tick := proto.App{Name: "app", Request: "x", Every: proto.Duration(time.Hour)}
	changed := func(change func(a *proto.App)) proto.App {
		a := tick
		change(&a)
		return a
	}
	for _, tc := range []struct {
		name string
		app  proto.App
		want time.Duration // put at 05:30; it was put at 00:00, and began at 01:00
	}{
		{"another every", changed(func(a *proto.App) { a.Every = proto.Duration(4 * time.Hour) }), hours(8)},
		{"shorter", changed(func(a *proto.App) { a.Every = proto.Duration(20 * time.Minute) }), hours(5) + 40*time.Minute},
		{"a cron", changed(func(a *proto.App) { a.Every, a.Cron = 0, "15 7 * * *" }), hours(7.25)},
		{"a calendar period", changed(func(a *proto.App) { a.Every, a.Starts = 0, "daily" }), hours(24)},
		{"a zone", changed(func(a *proto.App) { a.Every, a.Starts, a.Timezone = 0, "daily", "Asia/Tokyo" }), hours(15)},
		{"depends", changed(func(a *proto.App) { a.Every, a.Depends = 0, map[string]string{"up": "6h"} }), hours(0)},
		{"args", changed(func(a *proto.App) { a.Args = proto.Values{"a": "b"} }), hours(1)},
		{"policies", changed(func(a *proto.App) {
			a.Overlap, a.Missed, a.Timeout = plan.OverlapQueue, plan.MissedNone, proto.Seconds(time.Minute)
		}), hours(1)},
		{"a host", changed(func(a *proto.App) { a.Host = "h" }), hours(1)},
	} {
		for _, from := range []string{"api", "specs"} {
			t.Run(tc.name+" by "+from, func(t *testing.T) {
				t.Parallel()
				inWorld(t, func(w *world) {
					up := proto.App{Name: "up", Request: "x", Starts: "hourly"}
					e := w.engine("m1", specs(up, tick))
					if from == "api" {
						e = w.engine("m1")
						w.put(e, up)
						w.put(e, tick)
					}
					w.run(e)
					at(hours(5.5))
					if from == "api" {
						w.put(e, tc.app)
					} else {
						must(w.t, w.engine("m2", specs(up, tc.app)).Sync(w.t.Context()))
					}
					if got := w.sinceOf("app"); got != tc.want {
						w.t.Errorf("periods are expected from %s on, want %s", got, tc.want)
					}
					w.wantSound("app")
				})
			})
		}
	}
}

// What depends on an app whose times change waits for nothing of the time between.
func TestDependentOfChangedTimes(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1")
		w.put(e, proto.App{Name: "up", Request: "x", Cron: "10 * * * *"})
		w.put(e, dependent("day", "daily", "up"))
		w.run(e)
		w.do("up", lasts(70*time.Minute)) // what runs at the change ends between the grids
		at(hours(5.3))
		w.put(e, proto.App{Name: "up", Request: "x", Cron: "40 */3 * * *", Overlap: plan.OverlapQueue})
		w.do("up", func(in proto.Instance) (Outcome, error) { return ok(in), nil })
		at(hours(22))
		w.wantRan("day", "2000-01-01-0000")
		at(hours(46))
		w.wantRan("day", "2000-01-01-0000", "2000-01-02-0000")
		w.wantSound("up")
	})
}

// An instance that is due already stays what it is when the times of its app do not
// change.
func TestWaitingInstanceStays(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"api", "specs"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				daily := proto.App{Name: "tick", Request: "x", Starts: "daily", Host: "h"}
				w.setDown("h", true)
				e := w.engine("m1", specs(daily))
				if from == "api" {
					e = w.engine("m1")
					w.put(e, daily)
				}
				w.run(e)
				at(hours(25))
				daily.Host = "other"
				if from == "api" {
					w.put(e, daily)
				} else {
					must(w.t, w.engine("m2", specs(daily)).Sync(w.t.Context()))
				}
				at(hours(26))
				w.wantRan("tick", "2000-01-02-0000")
			})
		})
	}
}
