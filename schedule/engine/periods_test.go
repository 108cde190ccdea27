package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
)

// A chain of apps: the hours of `up` give those of `mid`, whose day gives `top`.
func TestDependsOnWhatDepends(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1", specs(
			proto.App{Name: "top", Request: "x", Depends: map[string]string{"mid": "daily"}},
			proto.App{Name: "mid", Request: "x", Depends: map[string]string{"up": "hourly"}},
			proto.App{Name: "up", Request: "x", Starts: "hourly"},
		))
		w.run(e)
		at(hours(23.5))
		w.wantRan("top", "2000-01-01-0000")
		at(hours(47.5))
		w.wantRan("top", "2000-01-01-0000", "2000-01-02-0000")
	})
}

func TestPeriods(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.do("up", func(in proto.Instance) (Outcome, error) {
			if strings.HasPrefix(in.Name, "2000-01-01-0200") {
				return fails(in)
			}
			return ok(in), nil
		})
		apps := specs(
			proto.App{Name: "up", Request: "x", Every: proto.Duration(time.Hour), Missed: plan.MissedNone},
			proto.App{Name: "down", Request: "x", Depends: map[string]string{"up": "hourly"}},
		)
		e := w.engine("m1", apps)
		stop := w.run(e)
		at(hours(2.5))
		stop()
		at(hours(4.5)) // 03:00 and 04:00 are missed
		w.run(w.engine("m2", apps))
		at(hours(5.5))
		lines := func(app string) []string {
			list, err := e.Periods(w.t.Context(), app, time.Time{}, time.Time{}, 0)
			must(w.t, err)
			var out []string
			for _, p := range list {
				out = append(out, fmt.Sprintf("%s %s %s %v %v", p.Name[11:15], p.State, p.Reason, p.Waits, p.Blocks))
			}
			return out
		}
		for app, want := range map[string][]string{
			"up": {
				"0600 expected  [] []",
				"0500 succeeded  [] []",
				"0400 skipped missed [] [down]",
				"0300 skipped missed [] [down]",
				"0200 failed no luck [] [down]",
				"0100 succeeded  [] []",
			},
			"down": {
				"0600 expected  [] []",
				"0500 succeeded  [] []",
				"0400 waiting  [up] []",
				"0300 waiting  [up] []",
				"0200 waiting  [up] []",
				"0100 succeeded  [] []",
			},
		} {
			if got := lines(app); !slices.Equal(got, want) {
				w.t.Errorf("periods of %s:\n%s\nwant\n%s", app, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		list, err := e.Periods(w.t.Context(), "up", epoch.Add(hours(2)), epoch.Add(hours(4)), 0)
		must(w.t, err)
		if len(list) != 2 || list[0].Start.Sub(epoch) != hours(3) {
			w.t.Errorf("from 2 to 4: %+v", list)
		}
		_, err = e.Periods(w.t.Context(), "nope", time.Time{}, time.Time{}, 0)
		errorCode(w.t, err, proto.CodeNotFound)
	})
}

func TestRunPeriods(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1", specs(
			proto.App{Name: "up", Request: "x", Starts: "hourly", Timezone: "America/New_York"},
			proto.App{Name: "down", Request: "x", Depends: map[string]string{"up": "hourly"}, Timezone: "America/New_York"},
		))
		w.run(e)
		at(hours(3.5))
		run := func(app string, r proto.RunPeriods) string {
			a, err := e.RunPeriods(w.t.Context(), app, r)
			must(w.t, err)
			var out []string
			for _, p := range a.Periods {
				out = append(out, fmt.Sprintf("%s %t", p.Name[:15], p.Made))
				if p.Made != (p.Why == "") {
					w.t.Errorf("%s: made %t, %q", p.Name, p.Made, p.Why)
				}
			}
			after(time.Second)
			return strings.Join(out, ", ")
		}
		for _, tc := range []struct {
			app  string
			ask  proto.RunPeriods
			want string
		}{
			// Before the app was there: a backfill. 19:00 in New York is midnight.
			{"up", proto.RunPeriods{From: "1999-12-31-1600-up", To: "1999-12-31-1900-up"},
				"1999-12-31-1600 true, 1999-12-31-1700 true, 1999-12-31-1800 true"},
			{"up", proto.RunPeriods{Period: "1999-12-31-1600-up"}, "1999-12-31-1600 false"},
			{"up", proto.RunPeriods{Period: "1999-12-31T21:40:00Z", Again: true}, "1999-12-31-1600 true"},
			{"up", proto.RunPeriods{From: "2000-01-01T02:00:00Z", To: "2000-01-01T09:00:00Z"},
				"1999-12-31-2100 false, 1999-12-31-2200 false"}, // a period that has not started is not there
			{"down", proto.RunPeriods{Period: "1999-12-31-1300-down"}, "1999-12-31-1300 false"},
			{"down", proto.RunPeriods{Period: "1999-12-31-1300-down", Force: true}, "1999-12-31-1300 true"},
		} {
			if got := run(tc.app, tc.ask); got != tc.want {
				w.t.Errorf("%s %+v:\n%s\nwant\n%s", tc.app, tc.ask, got, tc.want)
			}
		}
		w.wantStates("down", map[string]string{"1999-12-31-1600": "SUCCEEDED", "1999-12-31-1700": "SUCCEEDED", "1999-12-31-1800": "SUCCEEDED"})
		for _, bad := range []proto.RunPeriods{
			{}, {From: "2000-01-01T00:00:00Z"}, {Period: "yesterday"}, {Period: "2000-01-01-0100-other"}, {Period: "1999-12-31-1630-up"},
			{Period: "1999-12-31-1600-up", To: "2000-01-01T00:00:00Z"},
			{From: "1990-01-01T00:00:00Z", To: "2000-01-01T00:00:00Z"},
			{From: "2000-01-01T03:00:00Z", To: "2000-01-01T01:00:00Z"},
		} {
			_, err := e.RunPeriods(w.t.Context(), "up", bad)
			errorCode(w.t, err, proto.CodeInvalid)
		}
		w.wantSound("up")
		w.wantSound("down")
	})
}
