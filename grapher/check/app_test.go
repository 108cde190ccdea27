package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/internal/spectest"
	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/proto"
)

// appRequests are requests that apps can start.
const appRequests = `sequences:
  check:
    request: true
    args:
      required: [{name: feed}]
      optional: [{name: depth, type: int, default: 1}, {name: token, secret: true, default: ""}, {name: periodStart, default: ""}]
      static: [{name: fixed, default: x}]
    nodes: {a: {category: job, type: noop}}
  count:
    request: true
    args: {required: [{name: conf, type: object}, {name: instance}]}
    nodes: {a: {category: job, type: noop}}
  bare:
    request: true
    nodes: {a: {category: sequence, type: inner}}
  locked:
    request: true
    args: {required: [{name: key, secret: true}]}
    nodes: {a: {category: job, type: noop}}
  odd:
    request: true
    args: {optional: [{name: conf, type: list, default: []}]}
    nodes: {a: {category: job, type: noop}}
  inner:
    nodes: {a: {category: job, type: noop}}
apps:
`

// apps returns specs with these lines under `apps`.
func apps(lines ...string) string { return appRequests + "  " + strings.Join(lines, "\n  ") + "\n" }

// app returns specs with app x that starts request bare, with more lines.
func app(lines ...string) string {
	return apps(append([]string{"x:", "  request: bare"}, lines...)...)
}

// on returns specs with an upstream app and app x that depends on it.
func on(upstream, period string) string {
	return apps("up: {request: bare, "+upstream+"}", "x:", "  request: bare", "  depends:", "    up: "+period+" #!")
}

var badApps = []badSpec{
	{check: "wrong-type", message: "`apps` must be an object with fields, not a list", spec: "apps: [] #!\n"},
	{check: "wrong-type", app: "x", message: "the app is null: it needs `request`, and one of `every`, `cron`, `starts`, `depends`", spec: apps("x: #!", "y: {request: bare, depends: {x: hourly}}")},
	{check: "wrong-type", app: "x", message: "an app must be an object with fields, not the number 5", spec: apps("x: 5 #!")},
	{check: "wrong-type", app: "x", message: "an app must be an object with fields, not the text `daily`", spec: apps("x: daily #!", "y: {request: bare, depends: {x: hourly}}")},
	{check: "wrong-type", app: "x", message: "an app must be an object with fields, not a list", spec: apps("x: [] #!")},
	{check: "wrong-type", app: "x", message: "`cron` must be text, not a list", spec: app("  cron: [1] #!")},
	{check: "wrong-type", app: "x", message: "`args` of an app must be an object with fields, not a list", spec: apps("x:", "  request: check", "  every: 1m", "  args: [feed] #!")},
	{check: "wrong-type", app: "x", message: "arg `feed`: the YAML tag `!secret` is not supported", spec: apps("x: {request: check, every: 1m, args: {feed: !secret x}} #!")},
	{check: "wrong-type", app: "x", message: "`depends` must be an object with fields, not a list", spec: app("  depends: [y] #!")},
	{check: "wrong-type", app: "x", message: "`up` must be a period such as hourly, not null", spec: on("every: 1m", "~")},
	{check: "wrong-type", app: "x", message: "`every` must be a duration such as 30s, or a number of seconds, not a list", spec: app("  every: [] #!")},
	{check: "wrong-type", app: "x", message: "`missedCap` must be a whole number, not the text `ten`", spec: app("  every: 1m", "  missed: all", "  missedCap: ten #!")},
	{check: "unknown-field", app: "x", message: "unknown field `failure_delay`, did you mean `failureDelay`?", spec: app("  every: 1m", "  failure_delay: 3 #!")},
	{check: "yaml", line: 29, message: "not YAML: did not find expected alphabetic or numeric character (a value that starts with * or & needs quotes)", spec: app("  cron: * * * * *")},

	{check: "duplicate-app", app: "x", message: "the app is defined here and also at dir/bad.yaml:27", spec: apps("x: {request: bare, every: 1m}", "x: {request: bare, every: 1m} #!")},
	{check: "duplicate-app", app: "x", message: "the app is defined here and also at dir/bad.yaml:27", spec: apps("x: {request: bare, every: 1m}") + "---\napps:\n  x: {request: bare, every: 1m} #!\n"},
	{check: "app-name", app: "a/b", message: "the name of an app must have only letters, digits, dots, hyphens and underscores, and start with a letter or a digit: `a/b`", spec: apps("a/b: {request: bare, every: 1m} #!")},
	{check: "app-name", app: "..", message: "the name of an app must have only letters, digits, dots, hyphens and underscores, and start with a letter or a digit: `..`", spec: apps("..: {request: bare, every: 1m} #!")},
	{check: "app-name", app: strings.Repeat("x", 76), message: "the name of an app has 76 bytes, and the limit is 75: `" + strings.Repeat("x", 76) + "`", spec: apps(strings.Repeat("x", 76) + ": {request: bare, every: 1m} #!")},

	{check: "app-request", app: "x", message: "the app has no `request`", spec: apps("x: #!", "  every: 1m")},
	{check: "app-request", app: "x", message: "`request` is `bear`, but no request has that name, did you mean `bare`?", spec: apps("x:", "  every: 1m", "  request: bear #!")},
	{check: "app-request", app: "x", message: "`request` is `inner`, which is not a request: set `request: true` in it", spec: apps("x:", "  every: 1m", "  request: inner #!")},
	{check: "app-request", app: "x", message: "`undo` is `bear`, but no request has that name, did you mean `bare`?", spec: app("  every: 1m", "  undo: bear #!")},

	{check: "app-args", app: "x", message: "request `check` requires arg `feed`, and the app does not give it", spec: apps("x:", "  every: 1m", "  request: check #!")},
	{check: "app-args", app: "x", message: "request `check` requires arg `feed`, and the app does not give it", spec: app("  every: 1m", "  undo: check #!")},
	{check: "app-args", app: "x", message: "request `locked` requires arg `key`, which is secret: an app cannot give it", spec: apps("x:", "  every: 1m", "  request: locked #!")},
	{check: "app-args", app: "x", message: "instances give arg `conf` of request `odd` as an object, and its type is list", spec: apps("x:", "  every: 1m", "  request: odd #!")},
	{check: "app-args", app: "x", message: "arg `fed` of request `check` is unknown, did you mean `feed`?", spec: apps("x:", "  every: 1m", "  request: check", "  args:", "    feed: a", "    fed: b #!")},
	{check: "app-args", app: "x", message: "arg `conf` of request `check` is unknown: the request takes `feed`, `depth`, `token`, `periodStart`", spec: apps("x:", "  every: 1m", "  request: check", "  args:", "    feed: a", "    conf: {} #!")},
	{check: "app-args", app: "x", message: "arg `a` of request `bare` is unknown: the request takes no args", spec: app("  every: 1m", "  args: {a: 1} #!")},
	{check: "app-args", app: "x", message: "arg `depth` of request `check` must be a whole number (int), not the string `2`", spec: apps("x:", "  every: 1m", "  request: check", "  args:", "    feed: a", "    depth: '2' #!")},
	{check: "app-args", app: "x", message: "arg `feed` of request `check` is null: give it a value, or leave it out", spec: apps("x:", "  request: check", "  every: 1m", "  args:", "    feed: ~ #!")},
	{check: "app-args", app: "x", message: "arg `fixed` of request `check` is static: it cannot be given", spec: apps("x:", "  every: 1m", "  request: check", "  args:", "    feed: a", "    fixed: y #!")},
	{check: "app-args", app: "x", message: "arg `token` of request `check` is secret: anyone who may see the app would see the value", spec: apps("x:", "  every: 1m", "  request: check", "  args:", "    feed: a", "    token: s3cret #!")},

	{check: "app-when", app: "x", message: "the app does not say when it starts: give one of `every`, `cron`, `starts`, `depends`", spec: apps("x: #!", "  request: bare")},
	{check: "app-when", app: "x", message: "the app has `cron` and `starts`: only one of them can say when it starts", spec: app("  cron: 0 0 * * *", "  starts: daily #!")},
	{check: "app-when", app: "x", message: "the app has `every` and `depends`: only one of them can say when it starts", spec: apps("up: {request: bare, every: 1m}", "x:", "  request: bare", "  every: 1m", "  depends: {up: hourly} #!")},

	{check: "app-cron", app: "x", message: "`cron` is `1 2 3`: cron has five fields: minute, hour, day of month, month, day of week", spec: app("  cron: 1 2 3 #!")},
	{check: "app-cron", app: "x", message: "`cron` is `TZ=UTC 0 0 * * *`: give the time zone in `timezone`", spec: app("  cron: TZ=UTC 0 0 * * * #!")},
	{check: "app-never", app: "x", message: "`cron` is `0 0 31 2 *`, a time that never comes", spec: app("  cron: 0 0 31 2 * #!")},
	{check: "app-zone", app: "x", message: "`timezone` is `Europe/Brusels`, which is not a time zone such as Europe/Brussels, did you mean `Europe/Brussels`?", spec: app("  starts: daily", "  timezone: Europe/Brusels #!")},
	{check: "app-zone", app: "x", message: "`timezone` is `Local`, which is not a time zone such as Europe/Brussels", spec: app("  starts: daily", "  timezone: Local #!")},

	{check: "app-period", app: "x", message: "`starts` is `hourli`, which is none of minutely, hourly, daily, weekly, monthly, yearly, did you mean `hourly`?", spec: app("  starts: hourli #!")},
	{check: "app-period", app: "x", message: "`up`: `depends` has `hourlie`, which is not a period: write minutely, hourly, daily, weekly, monthly, yearly or a duration such as 90s, did you mean `hourly`?", spec: on("starts: hourly", "hourlie")},
	{check: "app-period", app: "x", message: "`a` is asked for its `hourly` period and `b` for its `daily` one: all upstream apps of an app must have the same",
		spec: apps("a: {request: bare, starts: hourly}", "b: {request: bare, starts: hourly}", "x:", "  request: bare", "  depends:", "    a: hourly", "    b: daily #!")},
	{check: "app-period", app: "x", message: "the period `minutely` is finer than that of `up`, which starts hourly", spec: on("starts: hourly", "minutely")},
	{check: "app-period", app: "x", message: "the period `10m` is finer than that of `up`, which starts hourly", spec: on("starts: hourly", "10m")},
	{check: "app-period", app: "x", message: "the period `minutely` is finer than that of `up`, which starts every 1m30s", spec: on("every: 90s", "minutely")},
	{check: "app-period", app: "x", message: "the period `hourly` is finer than that of `up`, which starts by the cron `30 2 * * *`", spec: on("cron: 30 2 * * *", "hourly")},
	{check: "app-period", app: "x", message: "the period `hourly` cannot be made up of instances of `up`, which starts every 7m0s: 7m0s does not divide 1h0m0s", spec: on("every: 7m", "hourly")},
	{check: "app-period", app: "x", message: "the period `hourly` cannot be made up of instances of `up`, which starts @every 7m: 7m0s does not divide 1h0m0s", spec: on("cron: '@every 7m'", "hourly")},
	{check: "app-period", app: "x", message: "the period `100s` cannot be made up of instances of `up`, which starts every 1m30s: it is no multiple of that", spec: on("every: 90s", "100s")},
	{check: "app-period", app: "x", message: "the period `48h` cannot be made up of instances of `up`, which starts daily: write one of a calendar", spec: on("starts: daily", "48h")},
	{check: "app-period", app: "x", message: "the period `hourly` is finer than that of `up`, which starts daily",
		spec: apps("base: {request: bare, starts: hourly}", "up: {request: bare, depends: {base: daily}}", "x:", "  request: bare", "  depends:", "    up: hourly #!")},

	{check: "app-depends", app: "x", message: "unknown app `down`", spec: apps("up: {request: bare, every: 1m}", "x:", "  request: bare", "  depends:", "    down: hourly #!")},
	{check: "app-depends", app: "x", message: "unknown app `upp`, did you mean `up`?", spec: apps("up: {request: bare, every: 1m}", "x:", "  request: bare", "  depends:", "    upp: hourly #!")},
	{check: "app-cycle", app: "x", message: "apps depend on each other in a cycle: `x` -> `x`", spec: app("  depends: {x: hourly} #!")},
	{check: "app-cycle", app: "a", message: "apps depend on each other in a cycle: `a` -> `b` -> `c` -> `a`",
		spec: apps("a: {request: bare, depends: {b: hourly}} #!", "b: {request: bare, depends: {c: hourly}}", "c: {request: bare, depends: {a: hourly}}")},

	{check: "app-duration", app: "x", message: "`timeout` is negative: -5s", spec: app("  every: 1m", "  timeout: -5 #!")},
	{check: "app-duration", app: "x", message: "`deadline` is negative: -1h0m0s", spec: app("  every: 1m", "  deadline: -1h #!")},
	{check: "app-duration", app: "x", message: "`failureDelay` must be more than 0; leave it out for none", spec: app("  every: 1m", "  failureDelay: 0 #!")},
	{check: "app-duration", app: "x", message: "`every` is `soon`, which is not a duration: write a number of seconds, or one with a unit such as 90s, 5m or 1h30m", spec: app("  every: soon #!")},
	{check: "app-duration", app: "x", message: "`every` is negative: -1m30s", spec: app("  every: -90 #!")},
	{check: "app-duration", app: "x", message: "`every` must be at least 1s, not 500ms", spec: app("  every: 500ms #!")},
	{check: "app-duration", app: "x", message: "`timeout` is `1e300` seconds, which is too long", spec: app("  every: 1m", "  timeout: 1e300 #!")},
	{check: "app-duration", app: "x", message: "`jitter` is 1m0s, and must be less than the time between two starts, 1m0s", spec: app("  every: 1m", "  jitter: 60 #!")},
	{check: "app-duration", app: "x", message: "`jitter` is 5m0s, and must be less than the time between two starts, 4m0s", spec: app("  cron: '*/7 * * * *'", "  jitter: 5m #!")},

	{check: "app-policy", app: "x", message: "`missed` cannot be `lst`, did you mean `last`?", spec: app("  every: 1m", "  missed: lst #!")},
	{check: "app-policy", app: "x", message: "`overlap` cannot be `no`: it can be `skip`, `queue`, `allow`", spec: app("  every: 1m", "  overlap: 'no' #!")},
	{check: "app-policy", app: "x", message: "`overlap` cannot be skip with `depends`: a period whose upstream apps are done would be lost",
		spec: apps("up: {request: bare, every: 1m}", "x:", "  request: bare", "  depends: {up: hourly}", "  overlap: skip #!")},
	{check: "app-policy", app: "x", message: "`missed` has no effect with `depends`: an instance is made when its upstream apps are done, whenever that is",
		spec: apps("up: {request: bare, every: 1m}", "x:", "  request: bare", "  depends: {up: hourly}", "  missed: all #!")},
	{check: "app-policy", app: "x", message: "`missedCap` limits `missed: all` and has no effect without it", spec: app("  every: 1m", "  missedCap: 3 #!")},
	{check: "app-policy", app: "x", message: "`missedCap` must be more than 0, not -1", spec: app("  starts: daily", "  missedCap: -1 #!")},
	{check: "app-policy", app: "x", message: "`missedCap` may be 10000, not 10001", spec: app("  starts: daily", "  missedCap: 10001 #!")},
	{check: "app-policy", app: "x", message: "`gap` applies to times of day: it has no effect without `cron` or `starts`", spec: app("  every: 1m", "  gap: skip #!")},
	{check: "app-policy", app: "x", message: "`fold` has no effect with @every, which knows no zone", spec: app("  cron: '@every 1m'", "  fold: both #!")},
	{check: "app-policy", app: "x", message: "`fold` cannot be `boht`, did you mean `both`?", spec: app("  starts: daily", "  fold: boht #!")},

	{check: "app-days", app: "x", message: "`cron` is `0 0 */2 * 1`: the day of month and the day of week must both match, because one of them starts with `*`; with a range such as 1-31/2 instead, either would do", spec: app("  cron: 0 0 */2 * 1 #!")},
	{check: "app-host", app: "x", message: "`host` must not have spaces, slashes or control characters: `a b`", spec: app("  every: 1m", "  host: a b #!")},
	{check: "app-host", app: "x", message: "`host` has 256 bytes, and the limit is 255: `" + strings.Repeat("h", 100) + "...`", spec: app("  every: 1m", "  host: "+strings.Repeat("h", 256)+" #!")},
}

// The state system and its neighbours, with all fields there are.
func TestAppsAreDecoded(t *testing.T) {
	t.Parallel()
	specs := mustParse(t, apps(
		"adx: {request: check, args: {feed: adx, depth: 3}, starts: hourly, host: tr-oddjob-dal-01}",
		"retgt: {request: check, args: {feed: retarget}, starts: hourly, missed: all, missedCap: 24, fold: both, gap: skip}",
		"counter: {request: count, depends: {adx: hourly, retgt: hourly}, timeout: 6000}",
		"bigcounter: {request: count, depends: {adx: weekly, retgt: weekly}, timeout: 600000, overlap: allow}",
		"nightly: {request: bare, cron: 30 2 * * *, timezone: America/New_York, undo: bare, jitter: 5m}",
		"sweep: {request: bare, every: 90s, failureDelay: 1.5, deadline: 1h, overlap: skip, missed: none}",
		"tick: {request: bare, every: 90}",
	))
	hourly := map[string]string{"adx": "hourly", "retgt": "hourly"}
	weekly := map[string]string{"adx": "weekly", "retgt": "weekly"}
	want := []proto.App{
		{Name: "adx", Request: "check", Args: proto.Values{"feed": "adx", "depth": int64(3)}, Starts: "hourly", Host: "tr-oddjob-dal-01"},
		{Name: "bigcounter", Request: "count", Depends: weekly, Timeout: proto.Seconds(600_000 * time.Second), Overlap: "allow"},
		{Name: "counter", Request: "count", Depends: hourly, Timeout: proto.Seconds(6000 * time.Second)},
		{Name: "nightly", Request: "bare", Cron: "30 2 * * *", Timezone: "America/New_York", Undo: "bare", Jitter: proto.Seconds(5 * time.Minute)},
		{Name: "retgt", Request: "check", Args: proto.Values{"feed": "retarget"}, Starts: "hourly", Missed: "all", MissedCap: 24, Fold: "both", Gap: "skip"},
		{Name: "sweep", Request: "bare", Every: proto.Duration(90 * time.Second), FailureDelay: proto.Seconds(1500 * time.Millisecond), Deadline: proto.Seconds(time.Hour), Overlap: "skip", Missed: "none"},
		{Name: "tick", Request: "bare", Every: proto.Duration(90 * time.Second)},
	}
	var got []proto.App
	for _, a := range specs.Apps {
		got = append(got, a.App)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p := specs.Apps[0].Pos; p != (spec.Pos{File: "a.yaml", Line: 27}) {
		t.Errorf("adx stands at %v", p)
	}
}

// What goes well together.
func TestPeriodsThatFit(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ upstream, period string }{
		{"starts: hourly", "hourly"}, {"starts: hourly", "yearly"}, {"starts: hourly", "2h"}, {"starts: weekly", "monthly"},
		{"every: 90s", "hourly"}, {"every: 90s", "3m"}, {"every: 90s", "90s"}, {"every: 7m", "weekly"},
		{"cron: 30 2 * * *", "daily"}, {"cron: 0 0 1 * *", "monthly"}, {"cron: '@every 5m'", "hourly"}, {"cron: '*/20 * * * *'", "hourly"},
	} {
		if _, problems := grapher.Parse(map[string][]byte{"a.yaml": []byte(on(x.upstream, x.period))}, grapher.Options{}); len(problems) > 0 {
			t.Errorf("%s with %s: %s", x.upstream, x.period, spectest.Show(problems))
		}
	}
}

// CheckApp says of an app over the API what the linter says of one in a file.
func TestCheckApp(t *testing.T) {
	t.Parallel()
	specs := mustParse(t, appRequests+"  up: {request: bare, starts: hourly}\n")
	others := map[string]proto.App{
		"up": specs.Apps[0].App,
		"a":  {Name: "a", Request: "bare", Depends: map[string]string{"b": "hourly"}},
		"b":  {Name: "b", Request: "bare", Depends: map[string]string{"c": "hourly", "up": "hourly"}},
	}
	tests := []struct {
		app  proto.App
		want []string // field/key check, sorted
	}{
		{proto.App{Name: "ok", Request: "check", Args: proto.Values{"feed": "x"}, Starts: "daily"}, nil},
		{proto.App{Name: "ok", Request: "count", Depends: map[string]string{"up": "hourly"}}, nil},
		{proto.App{}, []string{"name/ app-name", "name/ app-when", "request/ app-request"}},
		{proto.App{Name: "x", Request: "nope", Every: -1, Timeout: -1, Host: "a/b", Missed: "some"},
			[]string{"every/ app-duration", "host/ app-host", "missed/ app-policy", "request/ app-request", "timeout/ app-duration"}},
		{proto.App{Name: "x", Request: "check", Args: proto.Values{"token": "a", "fed": 1}, Cron: "0 0 31 2 *", Timezone: "Nowhere"},
			[]string{"args/fed app-args", "args/token app-args", "request/ app-args", "timezone/ app-zone"}},
		{proto.App{Name: "x", Request: "bare", Depends: map[string]string{"gone": "hourly", "up": "daily"}}, []string{"depends/gone app-depends", "depends/up app-period"}},
		{proto.App{Name: "c", Request: "bare", Depends: map[string]string{"a": "hourly"}}, []string{"depends/a app-cycle"}},
		{proto.App{Name: "up", Request: "bare", Every: proto.Duration(5 * time.Minute)}, nil}, // b asks for its hours
		{proto.App{Name: "up", Request: "bare", Starts: "daily"}, []string{"starts/ app-period"}},
		{proto.App{Name: "up", Request: "bare", Every: proto.Duration(7 * time.Minute)}, []string{"every/ app-period"}},
		{proto.App{Name: "x", Request: "bare", Cron: "0 0 */2 * 1"}, nil}, // a warning is for lint
		{proto.App{Name: "x", Request: "bare", Depends: map[string]string{"x": "hourly"}}, []string{"depends/x app-cycle"}},
	}
	for _, tt := range tests {
		var got []string
		for _, p := range specs.CheckApp(tt.app, others) {
			got = append(got, fmt.Sprintf("%s/%s %s", p.Field, p.Key, p.Check))
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v: %s", tt.app, diff)
		}
	}
	for _, p := range specs.CheckApp(proto.App{Name: "c", Request: "bare", Depends: map[string]string{"a": "hourly"}}, others) {
		if want := "apps depend on each other in a cycle: `c` -> `a` -> `b` -> `c`"; p.Message != want {
			t.Errorf("got %s, want %s", p.Message, want)
		}
	}
}

// Apps may be spread over files, and depend on those in others.
func TestAppsOfSeveralFiles(t *testing.T) {
	t.Parallel()
	specs, problems := grapher.Parse(map[string][]byte{
		"b.yaml": []byte("apps:\n  z: {request: bare, depends: {a: daily}}\n"),
		"a.yaml": []byte(apps("a: {request: bare, starts: hourly}")),
	}, grapher.Options{})
	if len(problems) > 0 || len(specs.Apps) != 2 || specs.Apps[1].File != "b.yaml" {
		t.Errorf("apps %v: %s", specs, spectest.Show(problems))
	}
	_, problems = grapher.Parse(map[string][]byte{
		"b.yaml": []byte("apps:\n  a: {request: bare, every: 1m}\n"),
		"a.yaml": []byte(apps("a: {request: bare, starts: hourly}")),
	}, grapher.Options{})
	if want := "b.yaml:2: error: app a: the app is defined here and also at a.yaml:27 (duplicate-app)"; len(problems) != 1 || problems[0].String() != want {
		t.Errorf("got %s", spectest.Show(problems))
	}
}
