package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
)

func minutely(change func(a *proto.App)) proto.App {
	a := proto.App{Name: "tick", Request: "tick", Every: proto.Duration(time.Minute)}
	if change != nil {
		change(&a)
	}
	return a
}

// 1,000 minutes pass while nothing runs: each policy does what it says, and none
// floods.
func TestThousandMissedMinutes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		app     proto.App
		runs    int    // of missed periods
		oldest  string // of these
		skipped uint64
	}{
		{"none", minutely(func(a *proto.App) { a.Missed = plan.MissedNone }), 0, "", 1000},
		{"last", minutely(nil), 1, "2000-01-01-1642-tick", 999},
		{"all", minutely(func(a *proto.App) { a.Missed, a.Overlap = plan.MissedAll, plan.OverlapQueue }), 100, "2000-01-01-1503-tick", 900},
		{"all, capped", minutely(func(a *proto.App) { a.Missed, a.MissedCap, a.Overlap = plan.MissedAll, 7, plan.OverlapQueue }), 7, "2000-01-01-1636-tick", 993},
		{"all, overlap allowed", minutely(func(a *proto.App) { a.Missed, a.Overlap = plan.MissedAll, plan.OverlapAllow }), 100, "2000-01-01-1503-tick", 900},
		{"all, overlap skipped", minutely(func(a *proto.App) { a.Missed = plan.MissedAll }), 100, "2000-01-01-1503-tick", 900},
		{"a calendar period", proto.App{Name: "tick", Request: "tick", Starts: "minutely"}, 100, "2000-01-01-1503-tick", 900},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				e := w.engine("m1")
				w.put(e, tc.app)
				stop := w.run(e)
				at(2*time.Minute + 30*time.Second)
				stop()
				w.wantRan("tick", "2000-01-01-0001", "2000-01-01-0002")

				// The next one, of 00:03, was missed and 999 more; 16:43 is to come.
				at(1002*time.Minute + 30*time.Second)
				stop = w.run(w.engine("m2"))
				after(20 * time.Second)
				ran := w.ran("tick")[2:]
				if tc.app.Missed == plan.MissedNone {
					// The newest one is only half a minute late: it is not missed.
					ran = slices.DeleteFunc(ran, func(name string) bool { return name == "2000-01-01-1642-tick" })
					tc.skipped--
				}
				if len(ran) != tc.runs || tc.runs > 0 && ran[0] != tc.oldest {
					w.t.Errorf("%d missed periods ran (%.3q), want %d from %s on", len(ran), ran, tc.runs, tc.oldest)
				}
				if !slices.IsSorted(ran) && tc.app.Overlap != plan.OverlapAllow {
					w.t.Errorf("they ran out of order: %q", ran)
				}
				if n := w.skippedOf("tick"); n != tc.skipped {
					w.t.Errorf("%d periods are recorded as skipped, want %d", n, tc.skipped)
				}
				if n := len(w.eventsOf("tick", proto.AppSkipped)); n > 1 {
					w.t.Errorf("%d events of skipped periods, want one for all", n)
				}
				before := len(w.ran("tick"))
				at(1004*time.Minute + 30*time.Second)
				if n := len(w.ran("tick")) - before; n != 2 {
					w.t.Errorf("%d ran in the two minutes after that, want 2: %q", n, w.ran("tick")[before:])
				}
				w.wantSound("tick")
				stop()
			})
		})
	}
}

func TestMissedNoneSkipsOneThatIsOverdue(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1")
		w.put(e, proto.App{Name: "nightly", Request: "x", Cron: "0 2 * * *", Missed: plan.MissedNone})
		at(hours(2.1)) // nobody looks at 02:00
		w.run(e)
		after(time.Minute)
		w.wantRan("nightly")
		at(hours(26.1))
		w.wantRan("nightly", "2000-01-02-0200")
		if n := w.skippedOf("nightly"); n != 1 {
			w.t.Errorf("%d periods are recorded as skipped, want 1", n)
		}
	})
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		overlap string
		want    []string // by 00:08:30; each takes 2m10s
		skipped uint64
		atOnce  int
	}{
		{plan.OverlapSkip, []string{"0001", "0004", "0007"}, 4, 1},
		{plan.OverlapQueue, []string{"0001", "0002", "0003", "0004"}, 0, 1},
		{plan.OverlapAllow, []string{"0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008"}, 0, 2},
	} {
		t.Run(tc.overlap, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.do("tick", lasts(130*time.Second))
				e := w.engine("m1")
				w.put(e, minutely(func(a *proto.App) { a.Overlap = tc.overlap }))
				w.run(e)
				atOnce := 0
				for m := time.Duration(1); m <= 8; m++ {
					at(m*time.Minute + 30*time.Second)
					n := 0
					for _, in := range w.instances("tick") {
						if in.State == proto.InstanceRunning {
							n++
						}
					}
					atOnce = max(atOnce, n)
				}
				for i := range tc.want {
					tc.want[i] = "2000-01-01-" + tc.want[i]
				}
				w.wantRan("tick", tc.want...)
				if atOnce != tc.atOnce {
					w.t.Errorf("%d ran at once, want %d", atOnce, tc.atOnce)
				}
				if n := w.skippedOf("tick"); n != tc.skipped {
					w.t.Errorf("%d periods are recorded as skipped, want %d", n, tc.skipped)
				}
				w.wantSound("tick")
			})
		})
	}
}

func TestJitterSpreadsStarts(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1")
		for i := range 20 {
			w.put(e, proto.App{Name: fmt.Sprintf("tick%02d", i), Request: "x", Every: proto.Duration(time.Hour), Jitter: proto.Seconds(10 * time.Minute)})
		}
		w.run(e)
		at(hours(1) + 11*time.Minute)
		starts := map[time.Time]bool{}
		for i := range 20 {
			in := w.instances(fmt.Sprintf("tick%02d", i))[0]
			late := in.StartedAt.Sub(in.PeriodStart)
			if late < 0 || late >= 10*time.Minute || in.StartedAt.Sub(in.Due) > 100*time.Millisecond {
				w.t.Errorf("%s started %s after its period, due %s", in.Name, late, in.Due)
			}
			starts[*in.StartedAt] = true
		}
		if len(starts) < 15 {
			w.t.Errorf("20 apps started at %d times only", len(starts))
		}
	})
}

func TestFailureDelay(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.do("tick", func(in proto.Instance) (Outcome, error) {
			if in.Number == 2 {
				return fails(in)
			}
			return ok(in), nil
		})
		e := w.engine("m1")
		w.put(e, minutely(func(a *proto.App) { a.FailureDelay = proto.Seconds(210 * time.Second) }))
		w.run(e)
		at(5*time.Minute + 15*time.Second) // it failed at 00:02
		w.wantRan("tick", "2000-01-01-0001", "2000-01-01-0002")
		at(6*time.Minute + 15*time.Second)
		w.wantRan("tick", "2000-01-01-0001", "2000-01-01-0002", "2000-01-01-0005", "2000-01-01-0006")
		if got := w.instances("tick")[2]; got.StartedAt.Sub(epoch) != 330*time.Second {
			w.t.Errorf("after the failure the next one started at %s, want 3m30s after it", got.StartedAt)
		}
	})
}

func TestStartsInTime(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1", func(c *Config) { c.Poll = time.Second })
		w.put(e, proto.App{Name: "tick", Request: "x", Every: proto.Duration(7 * time.Second)})
		w.run(e)
		at(5 * time.Minute)
		list := w.instances("tick")
		if len(list) < 42 {
			w.t.Fatalf("%d instances in five minutes, want one every 7 s", len(list))
		}
		for _, in := range list {
			if in.StartedAt != nil && in.StartedAt.Sub(in.Due) > 10*time.Millisecond {
				w.t.Errorf("%s started %s late", in.Name, in.StartedAt.Sub(in.Due))
			}
		}
	})
}
