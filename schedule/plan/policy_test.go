package plan

import (
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
)

// on is a time of day, on the day of these tests.
func on(clock string) time.Time {
	layout := "15:04"
	if len(clock) > len(layout) {
		layout = time.TimeOnly
	}
	t, err := time.Parse(layout, clock)
	if err != nil {
		panic(err) // the test is wrong
	}
	return t.AddDate(2000, 0, 0) // the year of a clock time is 0
}

func compiled(t *testing.T, def proto.App) *App {
	t.Helper()
	if def.Name == "" {
		def.Name, def.Request = "app", "x"
	}
	app, err := Compile(def, time.Time{}, 1)
	testkit.Must(t, err)
	return app
}

func every(d time.Duration, change func(def *proto.App)) proto.App {
	def := proto.App{Every: proto.Duration(d)}
	if change != nil {
		change(&def)
	}
	return def
}

// skippedAs is what is recorded of skipped periods; the zero value is nothing.
type skippedAs struct {
	from, to string
	n        int
	why      string
}

func checkSkipped(t *testing.T, got *Skipped, want skippedAs) {
	t.Helper()
	var as skippedAs
	for _, ev := range got.Events("app") {
		as = skippedAs{ev.PeriodStart.Format("15:04"), ev.PeriodTo.Format("15:04"), int(ev.Count), ev.Reason}
	}
	if as != want {
		t.Errorf("skipped: %+v, want %+v", as, want)
	}
}

// What a user gets of periods whose time has passed.
func TestAtStart(t *testing.T) {
	t.Parallel()
	none := func(def *proto.App) { def.Missed = MissedNone }
	all := func(limit uint) func(*proto.App) {
		return func(def *proto.App) { def.Missed, def.MissedCap = MissedAll, limit }
	}
	queue := func(def *proto.App) { def.Overlap = OverlapQueue }
	for _, tc := range []struct {
		name    string
		app     proto.App
		period  string // of the instance; it is due at its start
		reason  string // why it waited
		now     string
		skips   Skips
		becomes string // the period that runs in its place; "" is its own
		skipped skippedAs
	}{
		{name: "in time", app: every(time.Minute, nil), period: "00:03", now: "00:03:10"},
		{name: "last: only the newest runs", app: every(time.Minute, nil), period: "00:03", now: "00:10:30",
			becomes: "00:10", skipped: skippedAs{"00:03", "00:09", 7, "missed"}},
		{name: "last: what held it is recorded", app: every(time.Minute, nil), period: "00:03", reason: "waits for h", now: "00:10:30",
			becomes: "00:10", skipped: skippedAs{"00:03", "00:09", 7, "missed: waits for h"}},
		{name: "last: held by a backfill", app: every(time.Minute, nil), period: "00:03", now: "00:10:30",
			reason:  ReasonBehind(&App{}, Holder{Number: 7, Name: "b", State: proto.InstanceRunning}),
			becomes: "00:10", skipped: skippedAs{"00:03", "00:09", 7, "overlap: a backfill ran"}},
		{name: "none: the newest is not missed yet", app: every(time.Minute, none), period: "00:03", now: "00:10:30",
			becomes: "00:10", skipped: skippedAs{"00:03", "00:09", 7, "missed"}},
		{name: "none: waits for the next", app: every(time.Hour, none), period: "01:00", now: "03:30",
			becomes: "04:00", skipped: skippedAs{"01:00", "03:00", 3, "missed"}},
		{name: "none: one that is overdue", app: every(time.Hour, none), period: "01:00", now: "01:30",
			becomes: "02:00", skipped: skippedAs{"01:00", "01:00", 1, "missed"}},
		{name: "none: one of an app that was paused", app: every(time.Hour, none), period: "01:00", reason: proto.ReasonWasPaused, now: "01:30",
			becomes: "02:00", skipped: skippedAs{"01:00", "01:00", 1, "missed: the app was paused"}},
		{name: "none: one that was held still runs", app: every(time.Hour, none), period: "01:00", reason: "waits for h", now: "01:30"},
		{name: "all: each runs", app: every(time.Minute, all(0)), period: "00:03", now: "00:10:30"},
		{name: "all: no more than the limit", app: every(time.Minute, all(3)), period: "00:03", now: "00:10:30",
			becomes: "00:08", skipped: skippedAs{"00:03", "00:07", 5, "missed: more than are run later"}},
		{name: "all: what is skipped already does not count", app: every(time.Minute, all(3)), period: "00:03", now: "00:10:30",
			skips: Skips{{PeriodStart: on("00:05"), PeriodTo: on("00:09")}}},
		{name: "a queue is worked off", app: every(time.Minute, queue), period: "00:03", reason: ReasonQueued, now: "00:10:30"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := &proto.Instance{PeriodStart: on(tc.period), Due: on(tc.period), Reason: tc.reason}
			o, skipped := compiled(t, tc.app).AtStart(in, on(tc.now), tc.skips)
			becomes := ""
			if o != nil {
				becomes = o.Start.Format("15:04")
			}
			if becomes != tc.becomes {
				t.Errorf("it becomes %q, want %q", becomes, tc.becomes)
			}
			checkSkipped(t, skipped, tc.skipped)
		})
	}
}

// What comes after an instance that ends.
func TestNextInstance(t *testing.T) {
	t.Parallel()
	minute := func(change func(def *proto.App)) proto.App { return every(time.Minute, change) }
	ended := func(period, started string) proto.Instance {
		at := on(started)
		return proto.Instance{Name: "it", PeriodStart: on(period), StartedAt: &at}
	}
	undone := ended("00:03", "00:03")
	undone.UndoTries = 3
	for _, tc := range []struct {
		name    string
		app     proto.App
		since   string
		in      proto.Instance
		failed  bool
		now     string
		period  string
		reason  string
		fetchAt string
		skipped skippedAs
	}{
		{name: "in time", app: minute(nil), in: ended("00:03", "00:03"), now: "00:03:20", period: "00:04"},
		{name: "skip: what became due meanwhile is skipped", app: minute(nil), in: ended("00:03", "00:03"), now: "00:05:30",
			period: "00:06", skipped: skippedAs{"00:04", "00:05", 2, "overlap: an earlier instance ran"}},
		{name: "skip: behind an undo that kept failing", app: minute(nil), in: undone, now: "00:05:30",
			period: "00:06", skipped: skippedAs{"00:04", "00:05", 2, "overlap: it failed, and so did its undo, 3 times"}},
		{name: "queue: it runs later", app: minute(func(def *proto.App) { def.Overlap = OverlapQueue }), in: ended("00:03", "00:03"),
			now: "00:05:30", period: "00:04", reason: ReasonQueued},
		{name: "skip, all missed: what was due before it started still runs", app: minute(func(def *proto.App) { def.Missed = MissedAll }),
			in: ended("00:03", "00:10:30"), now: "00:12:35",
			period: "00:04", reason: ReasonMissed, skipped: skippedAs{"00:11", "00:12", 2, "overlap: an earlier instance ran"}},
		{name: "a failure is followed by a pause", app: minute(func(def *proto.App) { def.FailureDelay = proto.Seconds(210 * time.Second) }),
			in: ended("00:02", "00:02"), failed: true, now: "00:02:00", period: "00:03", reason: ReasonDelay, fetchAt: "00:05:30"},
		{name: "no pause after a success", app: minute(func(def *proto.App) { def.FailureDelay = proto.Seconds(210 * time.Second) }),
			in: ended("00:02", "00:02"), now: "00:02:00", period: "00:03"},
		{name: "new times since it started", app: minute(nil), since: "01:00", in: ended("00:03", "00:03"), now: "00:03:20", period: "01:00"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			app := compiled(t, tc.app)
			if tc.since != "" {
				app.Since = on(tc.since)
			}
			n, skipped := app.NextInstance(&tc.in, tc.failed, on(tc.now), nil)
			if n == nil {
				t.Fatal("none comes")
			}
			fetchAt := ""
			if !n.FetchAt.IsZero() {
				fetchAt = n.FetchAt.Format(time.TimeOnly)
			}
			if got := n.PeriodStart.Format("15:04"); got != tc.period || n.Reason != tc.reason || fetchAt != tc.fetchAt {
				t.Errorf("next is %s (%q, fetched at %q), want %s (%q, at %q)", got, n.Reason, fetchAt, tc.period, tc.reason, tc.fetchAt)
			}
			checkSkipped(t, skipped, tc.skipped)
		})
	}
}

// The period that is late next, and when.
func TestNextDeadline(t *testing.T) {
	t.Parallel()
	half := func(def *proto.App) { def.Deadline = proto.Seconds(30 * time.Minute) }
	hourly := proto.App{Name: "up", Request: "x", Starts: "hourly"}
	daily := dependent("day", "daily", "up")
	half(&daily)
	for _, tc := range []struct {
		name      string
		app       proto.App
		from, now string
		start, at string // "" is never
		dependsOn *proto.App
		upSince   string
	}{
		{name: "none is ever late", app: every(time.Hour, nil), from: "01:00", now: "05:45"},
		{name: "the same one", app: every(time.Hour, half), from: "01:00", now: "01:10", start: "01:00", at: "01:30"},
		{name: "its deadline is now", app: every(time.Hour, half), from: "01:00", now: "01:30", start: "02:00", at: "02:30"},
		{name: "some hours later", app: every(time.Hour, half), from: "01:00", now: "05:45", start: "06:00", at: "06:30"},
		{name: "a day: once its last hour is late", app: daily, dependsOn: &hourly, from: "00:00", now: "12:00", start: "00:00", at: "23:30"},
		{name: "a day before its upstream app came", app: daily, dependsOn: &hourly, upSince: "23:59", from: "00:00", now: "00:10",
			start: "00:00", at: "00:30"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ups := map[string]*App{}
			if tc.dependsOn != nil {
				up := compiled(t, *tc.dependsOn)
				if tc.upSince != "" {
					up.Since = on(tc.upSince)
				}
				ups[up.Def.Name] = up
			}
			start, at := compiled(t, tc.app).NextDeadline(ups, on(tc.from), on(tc.now))
			clock := func(t *time.Time) string {
				if t == nil {
					return ""
				}
				return t.Format("15:04")
			}
			if clock(start) != tc.start || clock(at) != tc.at {
				t.Errorf("%q is late at %q, want %q at %q", clock(start), clock(at), tc.start, tc.at)
			}
		})
	}
}

// What an instance says that waits for another one of its app; a backfill is told from
// it, whatever is in the reasons.
func TestReasonBehind(t *testing.T) {
	t.Parallel()
	calendar, dependent := &App{}, &App{Def: proto.App{Depends: map[string]string{"up": "hourly"}}}
	for _, tc := range []struct {
		name     string
		app      *App
		holder   Holder
		want     string
		backfill bool
	}{
		{"has just ended", calendar, Holder{Number: 7}, "waits for instance 7", false},
		{"runs", calendar, Holder{Number: 7, Name: "a", State: proto.InstanceRunning, Recurring: true}, "waits for instance a (RUNNING)", false},
		{"with a reason", calendar, Holder{Number: 7, Name: "a", State: proto.InstanceRunning, Reason: "slow", Recurring: true},
			"waits for instance a (RUNNING: slow)", false},
		{"a backfill", calendar, Holder{Number: 7, Name: "a", State: proto.InstanceRunning}, "waits for instance a, a backfill (RUNNING)", true},
		{"of an app without a calendar, none is a backfill", dependent, Holder{Number: 7, Name: "a", State: proto.InstanceRunning},
			"waits for instance a (RUNNING)", false},
		{"a reason that looks like it", calendar, Holder{Number: 7, Name: "a", State: proto.InstanceRunning, Reason: "x, a backfill (", Recurring: true},
			"waits for instance a (RUNNING: x, a backfill ()", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := ReasonBehind(tc.app, tc.holder)
			if got != tc.want || behindBackfill(got) != tc.backfill {
				t.Errorf("%q, backfill: %t; want %q, %t", got, behindBackfill(got), tc.want, tc.backfill)
			}
		})
	}
}
