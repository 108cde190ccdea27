package plan

import (
	"testing"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
)

func dependent(name, period string, on ...string) proto.App {
	a := proto.App{Name: name, Request: "x", Depends: map[string]string{}}
	for _, up := range on {
		a.Depends[up] = period
	}
	return a
}

// A year of hours above it, two apps up, is counted in a moment.
func TestStartsOfAYear(t *testing.T) {
	t.Parallel()
	apps := map[string]*App{}
	for _, def := range []proto.App{{Name: "work", Request: "x", Cron: "30 6-20 * * 1-5", Timezone: "Europe/Berlin"},
		dependent("hour", "hourly", "work"), dependent("again", "hourly", "hour"), dependent("year", "yearly", "again")} {
		app, err := Compile(def, time.Time{}, 0)
		testkit.Must(t, err)
		apps[def.Name] = app
	}
	s := &Starts{Apps: apps}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	started := time.Now()
	n := s.Count(apps["again"], from, from.AddDate(1, 0, 0))
	if want := 261 * 15; n != want { // weekdays of 2026
		t.Errorf("%d hours, want %d", n, want)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	o := calendar.Occurrence{Start: from, End: from.Add(time.Hour)}
	if why := s.NothingIn(apps["again"], o); why == "" {
		t.Error("at midnight there is something to wait for")
	}
}

// A cycle is refused wherever apps are put. One that is stored all the same, such as
// by an earlier version, stops no member.
func TestStartsEndInACycle(t *testing.T) {
	t.Parallel()
	a, b := dependent("a", "daily", "b", "c"), dependent("b", "daily", "a", "c")
	a.Timezone = "America/New_York"
	apps := map[string]*App{}
	for _, def := range []proto.App{a, b, {Name: "c", Request: "x", Starts: "hourly"}} {
		app, err := Compile(def, time.Time{}, 0)
		testkit.Must(t, err)
		apps[def.Name] = app
	}
	s := &Starts{Apps: apps}
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	if n := s.Count(apps["a"], from, from.AddDate(0, 0, 7)); n != 7 {
		t.Errorf("%d days, want 7", n)
	}
}
