package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// hour is the start of an hour: 0 is the first full one after the tests' clock says.
func hour(n int) time.Time {
	return time.Date(2026, 3, 4, 6+n, 0, 0, 0, time.UTC)
}

// period is the instance of an app for an hour, due when the hour begins.
func period(app string, n int) NewInstance {
	return NewInstance{
		Name:        hour(n).Format("2006-01-02-1504-") + app,
		PeriodStart: hour(n), PeriodEnd: hour(n + 1), Due: hour(n),
	}
}

// hourly is an app that starts every hour, the first time at hour 0.
func hourly(app string) AppPut {
	first := period(app, 0)
	return AppPut{
		App:    proto.App{Name: app, Request: "check", Starts: "hourly"},
		Source: proto.AppFromAPI, First: &first, Since: hour(0),
	}
}

// put stores an app that must be new or changed.
func (f *fixture) put(t *testing.T, p AppPut) {
	t.Helper()
	changed, err := f.PutApp(t.Context(), p)
	must(t, err)
	if !changed {
		t.Fatalf("app %s has not changed", p.App.Name)
	}
}

// newestOf returns the live instance of an app with the highest number.
func (f *fixture) newestOf(t *testing.T, app string) proto.Instance {
	t.Helper()
	in, err := instanceOf(t.Context(), f.db.Query("SELECT "+liveFull+" FROM schedule_instances WHERE app = ? ORDER BY number DESC LIMIT 1", app), f.db.Writer)
	must(t, err)
	return in
}

// claimed claims the newest instance of an app for a member.
func (f *fixture) claimed(t *testing.T, app, member string) proto.Instance {
	t.Helper()
	in, err := f.ClaimInstance(t.Context(), Claim{Spec: f.newestOf(t, app).InstanceSpecifier, Member: member, Slot: true})
	must(t, err)
	return in
}

// run takes the newest instance of an app through to the state; the next one is of
// the hour next, if that is not negative.
func (f *fixture) run(t *testing.T, app string, state proto.InstanceState, next int, signals ...Signal) {
	t.Helper()
	in := f.claimed(t, app, "m1")
	fin := Finish{Spec: in.InstanceSpecifier, State: state, Signals: signals}
	if next >= 0 {
		n := period(app, next)
		fin.Next = &n
	}
	must(t, f.FinishInstance(t.Context(), fin))
}

// wantNumbers checks that an app has so many instances, numbered without a hole, and
// that its row knows the newest.
func (f *fixture) wantNumbers(t *testing.T, app string, want int) {
	t.Helper()
	live := f.count(t, "schedule_instances WHERE app = ?", app)
	done := f.count(t, "schedule_archive WHERE app = ?", app)
	var last, highest int
	must(t, f.db.Query("SELECT last_number FROM schedule_apps WHERE name = ?", app).Row(t.Context(), f.db.Writer, &last))
	must(t, f.db.Query(`SELECT COALESCE(MAX(n), 0) FROM (SELECT MAX(number) AS n FROM schedule_instances WHERE app = ?
		UNION ALL SELECT MAX(number) FROM schedule_archive WHERE app = ?) x`, app, app).Row(t.Context(), f.db.Writer, &highest))
	if live+done != want || last != want || highest != want {
		t.Errorf("app %s: %d live and %d archived instances, the highest number is %d, last_number %d; want %d everywhere",
			app, live, done, highest, last, want)
	}
}

// due returns the names of what is due now.
func (f *fixture) due(t *testing.T) []string {
	t.Helper()
	list, _, err := f.DueInstances(t.Context(), []BucketRange{{0, Buckets}}, 0, 100)
	must(t, err)
	out := []string{}
	for _, d := range list {
		out = append(out, fmt.Sprintf("%s/%d", d.App, d.Number))
	}
	return out
}

// toHour moves the clock to the start of an hour.
func (f *fixture) toHour(n int) { f.clock.Add(hour(n).Sub(f.clock.Now())) }
