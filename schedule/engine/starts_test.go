package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

func dependent(name, period string, on ...string) proto.App {
	a := proto.App{Name: name, Request: "x", Depends: map[string]string{}}
	for _, up := range on {
		a.Depends[up] = period
	}
	return a
}

// Periods without work above them are not waited for, however far above.
func TestPeriodsWithNothingToWaitFor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		apps    []proto.App
		days    float64
		app     string
		want    []string
		nothing string // a period of the app before it that is not expected
	}{
		{"weekdays, daily, weekly", []proto.App{
			{Name: "work", Request: "x", Cron: "0 9 * * 1-5"}, dependent("day", "daily", "work"), dependent("week", "weekly", "day")},
			8, "week", []string{"2000-01-03-0000"}, "2000-01-08"},
		{"one more between", []proto.App{
			{Name: "work", Request: "x", Cron: "0 9 * * 1-5"}, dependent("day", "daily", "work"), dependent("again", "daily", "day"),
			dependent("week", "weekly", "again")},
			8, "week", []string{"2000-01-03-0000"}, "2000-01-09"},
		{"some days of two", []proto.App{
			{Name: "mon", Request: "x", Cron: "0 9 * * 1"}, {Name: "thu", Request: "x", Cron: "0 9 * * 4"},
			dependent("day", "daily", "mon", "thu"), dependent("week", "weekly", "day")},
			8, "week", []string{"2000-01-03-0000"}, "2000-01-05"},
		{"minutes of an hour", []proto.App{
			{Name: "some", Request: "x", Cron: "*/2,5 * * * *"}, dependent("minute", "minutely", "some"), dependent("hour", "hourly", "minute")},
			2.0 / 24, "hour", []string{"2000-01-01-0000", "2000-01-01-0100"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				e := w.engine("m1", calm, specs(tc.apps...))
				w.run(e)
				at(hours(24 * tc.days))
				w.wantRan(tc.app, tc.want...)
				if tc.nothing == "" {
					return
				}
				between := tc.apps[len(tc.apps)-2].Name
				why := func(day string) string {
					t.Helper()
					start, err := time.Parse(time.DateOnly, day)
					must(w.t, err)
					next, err := e.NextTimes(w.t.Context(), between, start, 1)
					must(w.t, err)
					return next[0].Why
				}
				const nothing = "nothing to wait for: no start of "
				if got := why(tc.nothing); !strings.HasPrefix(got, nothing) {
					w.t.Errorf("of %s: %q", tc.nothing, got)
				}
				if got := why("2000-01-10"); strings.HasPrefix(got, nothing) {
					w.t.Errorf("of a Monday: %q", got)
				}
			})
		})
	}
}

// A Saturday that was run although there was nothing to do does not stand for a day
// that was not done.
func TestExtraPeriodDoesNotStandForAnother(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1", calm, specs(proto.App{Name: "work", Request: "x", Cron: "0 9 * * 1-5"},
			dependent("day", "daily", "work"), dependent("week", "weekly", "day")))
		w.do("day", func(in proto.Instance) (Outcome, error) {
			if in.Name == "2000-01-05-0000-day" && in.Run == 0 {
				return fails(in)
			}
			return ok(in), nil
		})
		w.run(e)
		at(hours(24 * 8.5))
		_, err := e.RunPeriods(w.t.Context(), "day", proto.RunPeriods{Period: "2000-01-08T00:00:00Z", Force: true})
		must(w.t, err)
		after(time.Hour)
		w.wantStates("day", map[string]string{"2000-01-05-0000": "FAILED", "2000-01-08-0000": "SUCCEEDED"})
		w.wantRan("week")
		_, err = e.RunPeriods(w.t.Context(), "day", proto.RunPeriods{Period: "2000-01-05T00:00:00Z"})
		must(w.t, err)
		after(time.Hour)
		w.wantRan("week", "2000-01-03-0000")
	})
}
