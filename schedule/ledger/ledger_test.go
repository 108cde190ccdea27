package ledger

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/store"
)

// noon is the time of the database.
var noon = time.Date(2000, 1, 3, 12, 0, 0, 0, time.UTC)

// books is a database whose clock stands, and what reads it.
type books struct {
	t        *testing.T
	store    *store.Store
	apps     *Apps
	upstream *Upstream
	ledger   *Ledger
}

func open(t *testing.T, declared ...string) *books {
	t.Helper()
	db, err := database.Open(t.Context(), database.Config{SQLitePath: t.TempDir() + "/treadle.db", Now: func() time.Time { return noon }})
	testkit.Must(t, err)
	t.Cleanup(func() { testkit.Must(t, db.Close()) })
	testkit.Must(t, db.Migrate(t.Context()))
	names := map[string]bool{}
	for _, name := range declared {
		names[name] = true
	}
	s := store.New(db)
	b := &books{t: t, store: s, apps: NewApps(s)}
	b.upstream = NewUpstream(s, b.apps)
	b.ledger = New(s, b.upstream, names)
	return b
}

// put stores an app whose periods are expected since then.
func (b *books) put(app proto.App, since time.Time) {
	b.t.Helper()
	_, err := b.store.PutApp(b.t.Context(), store.AppPut{App: app, Source: proto.AppFromAPI, Since: since})
	testkit.Must(b.t, err)
	b.apps.Forget(app.Name)
}

// succeed has the periods of an app that start at these hours of the day SUCCEED.
func (b *books) succeed(name string, hours ...int) {
	b.t.Helper()
	app, err := b.apps.Get(b.t.Context(), name)
	testkit.Must(b.t, err)
	for _, h := range hours {
		o, _ := app.Calendar.AtOrBefore(noon.Truncate(24 * time.Hour).Add(time.Duration(h) * time.Hour))
		n := store.NewInstance(*app.Instance(o))
		n.Recurring = false
		made, err := b.store.ExtraInstances(b.t.Context(), name, []store.NewInstance{n}, false)
		testkit.Must(b.t, err)
		if !made[0].Made {
			b.t.Fatalf("%s was not made: %s", n.Name, made[0].Why)
		}
		live, err := b.store.Instances(b.t.Context(), store.InstanceFilter{App: name, States: []proto.InstanceState{proto.InstanceQueued}})
		testkit.Must(b.t, err)
		in, err := b.store.ClaimInstance(b.t.Context(), store.Claim{Spec: live[0].InstanceSpecifier, Member: "m1"})
		testkit.Must(b.t, err)
		testkit.Must(b.t, b.store.FinishInstance(b.t.Context(), store.Finish{Spec: in.InstanceSpecifier, State: proto.InstanceSucceeded}))
	}
}

func hourly(name string, on ...string) proto.App {
	app := proto.App{Name: name, Request: "x"}
	if len(on) == 0 {
		app.Starts = "hourly"
		return app
	}
	app.Depends = map[string]string{}
	for _, up := range on {
		app.Depends[up] = "hourly"
	}
	return app
}

// A period starts once all that it needs has SUCCEEDED; until then, users are told what it
// is blocked on, and that is the same thing.
func TestBlockedUntilComplete(t *testing.T) {
	t.Parallel()
	day := noon.Truncate(24 * time.Hour)
	for _, tc := range []struct {
		name    string
		since   map[string]int // hours of this day; default 10
		done    map[string][]int
		missing string // an upstream app that does not exist
		hour    int
		want    bool
		blocked string // on what the period is blocked
	}{
		{name: "nothing has run", hour: 10, blocked: "a: 0 of 1, b: 0 of 1"},
		{name: "one of two", hour: 10, done: map[string][]int{"a": {10}}, blocked: "b: 0 of 1"},
		{name: "both", hour: 10, done: map[string][]int{"a": {10}, "b": {10}}, want: true},
		{name: "both, of another hour", hour: 11, done: map[string][]int{"a": {10}, "b": {10}}, blocked: "a: 0 of 1, b: 0 of 1"},
		{name: "an upstream app that came later does not hold it back", hour: 10, since: map[string]int{"b": 11},
			done: map[string][]int{"a": {10}}, want: true},
		{name: "an upstream app that does not exist does", hour: 10, missing: "c",
			done: map[string][]int{"a": {10}, "b": {10}}, blocked: "c: there is no such app"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			on := []string{"a", "b"}
			for _, name := range on {
				since := day.Add(10 * time.Hour)
				if h, ok := tc.since[name]; ok {
					since = day.Add(time.Duration(h) * time.Hour)
				}
				b.put(hourly(name), since)
			}
			if tc.missing != "" {
				on = append(on, tc.missing)
			}
			b.put(hourly("down", on...), day.Add(10*time.Hour))
			for name, hours := range tc.done {
				b.succeed(name, hours...)
			}

			down, err := b.apps.Get(t.Context(), "down")
			testkit.Must(t, err)
			o, _ := down.Calendar.AtOrBefore(day.Add(time.Duration(tc.hour) * time.Hour))
			if ok, err := b.upstream.Complete(t.Context(), down, o); err != nil || ok != tc.want {
				t.Errorf("complete: %t, %v; want %t", ok, err, tc.want)
			}
			list, err := b.ledger.Blocked(t.Context(), "down", 0)
			testkit.Must(t, err)
			if got := blockedOn(list, o.Start); got != tc.blocked {
				t.Errorf("blocked on %q, want %q", got, tc.blocked)
			}
		})
	}
}

func blockedOn(list []proto.Blocked, start time.Time) string {
	i := slices.IndexFunc(list, func(x proto.Blocked) bool { return x.Start.Equal(start) })
	if i < 0 {
		return ""
	}
	var out []string
	for _, on := range list[i].On {
		if on.Expected == 0 {
			out = append(out, on.App+": "+on.Why)
			continue
		}
		out = append(out, on.App+": "+string(rune('0'+on.Done))+" of "+string(rune('0'+on.Expected)))
	}
	return strings.Join(out, ", ")
}

// What is wrong with an app is shown beside it.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		app  proto.App
		want string
	}{
		{"none", hourly("x", "up"), ""},
		{"no upstream app", hourly("x", "gone"), "upstream app gone does not exist"},
		{"several", hourly("x", "gone", "lost", "up"), "upstream apps do not exist: gone, lost"},
		{"the specs have one of this name", hourly("specs"),
			"the specs declare an app of this name, too, which is left out: delete this one, or rename that"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, "specs")
			b.put(hourly("up"), noon)
			b.put(tc.app, noon)
			got, err := b.ledger.App(t.Context(), tc.app.Name)
			testkit.Must(t, err)
			if got.Problem != tc.want {
				t.Errorf("problem: %q, want %q", got.Problem, tc.want)
			}
		})
	}
}

// A compiled app is kept until it changes, and read again then.
func TestAppsAreReadAgainAfterAChange(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.put(hourly("a"), noon)
	kept, err := b.apps.Get(t.Context(), "a")
	testkit.Must(t, err)
	if again, err := b.apps.Get(t.Context(), "a"); err != nil || again != kept {
		t.Errorf("it was compiled again: %v", err)
	}
	changed := hourly("a")
	changed.Starts = "daily"
	_, err = b.store.PutApp(t.Context(), store.AppPut{App: changed, Source: proto.AppFromAPI, Since: noon})
	testkit.Must(t, err)
	fresh, err := b.apps.Fresh(t.Context(), "a", "gone")
	testkit.Must(t, err)
	if len(fresh) != 1 || fresh["a"].Def.Starts != "daily" || fresh["a"].Generation == kept.Generation {
		t.Errorf("fresh are %v", fresh)
	}
	if now, err := b.apps.Get(t.Context(), "a"); err != nil || now.Def.Starts != "daily" {
		t.Errorf("what is kept is the old one: %v", err)
	}
	_, err = b.apps.Get(t.Context(), "gone")
	testkit.ErrorCode(t, ForUser(err, "gone"), proto.CodeNotFound)
}
