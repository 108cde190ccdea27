package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// The apps of the state system:
//
//	adxcheck   ─┬─> counter     hourly, both done
//	retgtcheck ─┼─> daycount    daily
//	            ├─> weekcount   weekly
//	            ├─> monthcount  monthly
//	            └─> yearcount   yearly
//	adxcheck   ───> adxonly     hourly, it alone
var stateSystem = []proto.App{
	{Name: "adxcheck", Request: "check", Starts: "hourly", Host: "dal-01"},
	{Name: "retgtcheck", Request: "check", Starts: "hourly", Host: "dal-01"},
	{Name: "counter", Request: "count", Depends: both("hourly"), Host: "dal-01"},
	{Name: "adxonly", Request: "count", Depends: map[string]string{"adxcheck": "hourly"}},
	{Name: "daycount", Request: "count", Depends: both("daily")},
	{Name: "weekcount", Request: "count", Depends: both("weekly")},
	{Name: "monthcount", Request: "count", Depends: both("monthly")},
	{Name: "yearcount", Request: "count", Depends: both("yearly")},
}

func both(period string) map[string]string {
	return map[string]string{"adxcheck": period, "retgtcheck": period}
}

func TestDayOfTheStateSystem(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.do("adxcheck", lasts(time.Minute))
		w.do("retgtcheck", lasts(3*time.Minute))
		e := w.engine("m1", specs(stateSystem...))
		w.run(e)

		at(hours(1) + 2*time.Minute)
		w.wantRan("adxcheck", "2000-01-01-0100")
		w.wantRan("counter")
		w.wantRan("adxonly", "2000-01-01-0100")
		at(hours(1) + 4*time.Minute)
		w.wantRan("counter", "2000-01-01-0100")
		for _, part := range []string{
			`"adxcheck":{"count":1,"results":{"2000-01-01-0100-adxcheck":{"from":"2000-01-01-0100-adxcheck"}}}`,
			`"retgtcheck":{"count":1,"results":{"2000-01-01-0100-retgtcheck":{"from":"2000-01-01-0100-retgtcheck"}}}`,
		} {
			if conf := w.conf("2000-01-01-0100-counter"); !strings.Contains(conf, part) {
				w.t.Errorf("conf of the counter is %s, without %s", conf, part)
			}
		}

		at(hours(23) + 2*time.Minute)
		w.wantRan("daycount")
		at(hours(23) + 4*time.Minute)
		w.wantRan("daycount", "2000-01-01-0000") // the hours since the app was put
		at(hours(47) + 4*time.Minute)
		w.wantRan("daycount", "2000-01-01-0000", "2000-01-02-0000")
		// 2000-01-02 is a Sunday: the week has ended too.
		w.wantRan("weekcount", "1999-12-27-0000")
		if n := len(w.ran("counter")); n != 47 {
			w.t.Errorf("%d hours were counted, want 47", n)
		}
		w.wantRan("monthcount")
		for _, app := range stateSystem {
			w.wantSound(app.Name)
		}
	})
}

func TestLastHourOfMonthAndYear(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		at(time.Until(time.Date(2000, 12, 31, 21, 30, 0, 0, time.UTC)))
		w.run(w.engine("m1", specs(stateSystem...)))
		at(time.Date(2000, 12, 31, 22, 59, 0, 0, time.UTC).Sub(epoch))
		w.wantRan("yearcount")
		w.wantRan("monthcount")
		at(time.Date(2000, 12, 31, 23, 1, 0, 0, time.UTC).Sub(epoch))
		w.wantRan("yearcount", "2000-01-01-0000")
		w.wantRan("monthcount", "2000-12-01-0000")
		w.wantRan("weekcount", "2000-12-25-0000")
		w.wantRan("daycount", "2000-12-31-0000")
	})
}

func TestFailedUpstreamHoldsBackItsDependents(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.do("retgtcheck", func(in proto.Instance) (Outcome, error) {
			if strings.HasPrefix(in.Name, "2000-01-01-0500") && in.Run == 0 {
				return fails(in)
			}
			return ok(in), nil
		})
		e := w.engine("m1", specs(stateSystem...))
		w.run(e)
		at(hours(24.5))
		if slices.Contains(w.ran("counter"), "2000-01-01-0500-counter") {
			w.t.Error("the counter of 05:00 ran although an upstream app failed")
		}
		if n := len(w.ran("counter")); n != 23 {
			w.t.Errorf("%d counters ran, want all but one of 24", n)
		}
		if !slices.Contains(w.ran("adxonly"), "2000-01-01-0500-adxonly") {
			w.t.Error("what does not depend on the failed app was held back")
		}
		w.wantRan("daycount")

		blocked, err := e.Blocked(w.t.Context(), "", 0)
		must(w.t, err)
		var lines []string
		for _, b := range blocked {
			for _, on := range b.On {
				if b.Name == "2000-01-01-0500-counter" || b.Name == "2000-01-01-0000-daycount" {
					lines = append(lines, b.Name+" on "+on.First+": "+on.Why)
				}
			}
		}
		slices.Sort(lines)
		want := []string{
			"2000-01-01-0000-daycount on 2000-01-01-0500-retgtcheck: FAILED: no luck",
			"2000-01-01-0500-counter on 2000-01-01-0500-retgtcheck: FAILED: no luck",
		}
		if !slices.Equal(lines, want) {
			w.t.Errorf("blocked:\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}

		answer, err := e.RunPeriods(w.t.Context(), "retgtcheck", proto.RunPeriods{Period: "2000-01-01-0500-retgtcheck"})
		must(w.t, err)
		if len(answer.Periods) != 1 || !answer.Periods[0].Made {
			w.t.Fatalf("the failed period was not run again: %+v", answer)
		}
		after(time.Minute)
		if !slices.Contains(w.ran("counter"), "2000-01-01-0500-counter") {
			w.t.Error("the counter did not start after its upstream app ran again")
		}
		w.wantRan("daycount", "2000-01-01-0000")
		for _, app := range stateSystem {
			w.wantSound(app.Name)
		}
	})
}

func TestLateUpstreamHoldsBackItsDependents(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.do("retgtcheck", func(in proto.Instance) (Outcome, error) {
			if strings.HasPrefix(in.Name, "2000-01-01-0300") {
				return lasts(150 * time.Minute)(in)
			}
			return ok(in), nil
		})
		e := w.engine("m1", specs(stateSystem...))
		w.run(e)
		at(hours(5.25))
		w.wantRan("counter", "2000-01-01-0100", "2000-01-01-0200")
		at(hours(5.75)) // done at 05:30: the hours after it follow
		w.wantRan("counter", "2000-01-01-0100", "2000-01-01-0200", "2000-01-01-0300", "2000-01-01-0400", "2000-01-01-0500")
		if n := w.skippedOf("retgtcheck"); n != 0 {
			w.t.Errorf("%d periods were skipped: calendar periods queue", n)
		}
	})
}

func TestHostThatIsDown(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.setDown("dal-01", true)
		e := w.engine("m1", specs(stateSystem...))
		w.run(e)
		at(hours(1.5))
		w.wantRan("adxcheck")
		list, err := e.HostInstances(w.t.Context(), "dal-01")
		must(w.t, err)
		if len(list) != 2 || list[0].State != proto.HostPending || list[0].Reason != "waits for dal-01" {
			w.t.Errorf("the host has %+v, want two that wait for it", list)
		}
		w.setDown("dal-01", false)
		e.HostUp("dal-01")
		after(time.Second)
		w.wantRan("adxcheck", "2000-01-01-0100")
		w.wantRan("counter", "2000-01-01-0100")
		list, err = e.HostInstances(w.t.Context(), "dal-01")
		must(w.t, err)
		for _, in := range list {
			if in.Name == "2000-01-01-0100-counter" && (in.State != proto.HostDone || in.Conf["adxcheck"] == nil) {
				w.t.Errorf("the host has %+v, want it done and with its conf", in)
			}
		}
	})
}
