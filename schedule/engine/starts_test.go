package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
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
				e := w.engine("m1", specs(tc.apps...))
				w.run(e)
				at(hours(24 * tc.days))
				w.wantRan(tc.app, tc.want...)
				if tc.nothing == "" {
					return
				}
				between := tc.apps[len(tc.apps)-2].Name
				row, err := w.store.App(w.t.Context(), between)
				must(w.t, err)
				job, err := compile(row)
				must(w.t, err)
				start, err := time.Parse(time.DateOnly, tc.nothing)
				must(w.t, err)
				o, _ := job.cal.AtOrBefore(start)
				why, err := e.nothingToWaitFor(w.t.Context(), job, o)
				must(w.t, err)
				if !strings.HasPrefix(why, "nothing to wait for: no start of ") {
					w.t.Errorf("of %s: %q", tc.nothing, why)
				}
				workday, _ := job.cal.AtOrBefore(time.Date(2000, 1, 10, 0, 0, 0, 0, time.UTC))
				if why, err := e.nothingToWaitFor(w.t.Context(), job, workday); err != nil || why != "" {
					w.t.Errorf("of a Monday: %q, %v", why, err)
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
		e := w.engine("m1", specs(proto.App{Name: "work", Request: "x", Cron: "0 9 * * 1-5"},
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

// A year of hours above it, two apps up, is counted in a moment.
func TestStartsOfAYear(t *testing.T) {
	t.Parallel()
	jobs := map[string]*Job{}
	for _, a := range []proto.App{{Name: "work", Request: "x", Cron: "30 6-20 * * 1-5", Timezone: "Europe/Berlin"},
		dependent("hour", "hourly", "work"), dependent("again", "hourly", "hour"), dependent("year", "yearly", "again")} {
		job, err := compile(store.AppRow{App: a})
		must(t, err)
		jobs[a.Name] = job
	}
	s := &starts{jobs: jobs}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	begun := time.Now()
	n := s.count(jobs["again"], from, from.AddDate(1, 0, 0))
	if want := 261 * 15; n != want { // weekdays of 2026
		t.Errorf("%d hours, want %d", n, want)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	o := calendar.Occurrence{Start: from, End: from.Add(time.Hour)}
	if why := s.nothingIn(jobs["again"], o); why == "" {
		t.Error("at midnight there is something to wait for")
	}
}

// A circle is refused wherever apps are put. One that is stored all the same, such as
// by an earlier version, stops no member.
func TestStartsEndInACircle(t *testing.T) {
	t.Parallel()
	a, b := dependent("a", "daily", "b", "c"), dependent("b", "daily", "a", "c")
	a.Timezone = "America/New_York"
	jobs := map[string]*Job{}
	for _, app := range []proto.App{a, b, {Name: "c", Request: "x", Starts: "hourly"}} {
		job, err := compile(store.AppRow{App: app})
		must(t, err)
		jobs[app.Name] = job
	}
	s := &starts{jobs: jobs}
	if n := s.count(jobs["a"], epoch, epoch.AddDate(0, 0, 7)); n != 7 {
		t.Errorf("%d days, want 7", n)
	}
}
