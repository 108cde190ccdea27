package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// recurring is the state system with short periods: two feeds on a host, what
// depends on both of them, on one of them, and on more of their periods.
//
//	adx ------+--> counter (4s)
//	          +--> day (8s)
//	retarget -+--> counter, day
//	          `--> report (4s)
const recurring = `
sequences:
  check-feed:
    request: true
    args:
      required: [{name: feed}, {name: out}, {name: instance}]
    nodes:
      check:
        category: job
        type: shell
        args:
          - expected: feed
          - expected: out
          - expected: instance
          - expected: script
            value: |
              echo "$instance" >> "$out/runs"
              [ ! -e "$out/broken-$feed" ] || exit 1
              echo "{\"rows\": \"$instance\"}" > "$TREADLE_OUTPUT"
  count:
    request: true
    args:
      required: [{name: out}, {name: conf, type: object}, {name: instance}]
    nodes:
      count:
        category: job
        type: shell
        args:
          - expected: out
          - expected: conf
          - expected: instance
          - expected: script
            value: |
              echo "$instance" >> "$out/runs"
              echo "$conf" > "$out/conf-$instance"
apps:
  adx:      {request: check-feed, args: {feed: adx, out: "@DIR"}, every: 2s, host: db1, overlap: queue, missed: all}
  retarget: {request: check-feed, args: {feed: retarget, out: "@DIR"}, every: 2s, host: db1, overlap: queue, missed: all}
  counter:  {request: count, args: {out: "@DIR"}, depends: {adx: 4s, retarget: 4s}, host: db1}
  report:   {request: count, args: {out: "@DIR"}, depends: {retarget: 4s}}
  day:      {request: count, args: {out: "@DIR"}, depends: {adx: 8s, retarget: 8s}}
`

// The times of members that these tests wait for.
var fastSchedule = []string{"TREADLE_SCHEDULE_HEARTBEAT=1s", "TREADLE_SCHEDULE_STALE_AFTER=6s"}

// instances returns the instances of an app in the state, oldest period first.
func instances(e *e2e.Env, app, state string) []proto.Instance {
	var list []proto.Instance
	e.Get("/api/v1/instances?limit=1000&app="+app+"&state="+state, &list)
	slices.SortFunc(list, func(a, b proto.Instance) int { return a.PeriodStart.Compare(b.PeriodStart) })
	return list
}

// waitInstances waits until an app has n instances in the state.
func waitInstances(t *testing.T, e *e2e.Env, app, state string, n int) []proto.Instance {
	t.Helper()
	var list []proto.Instance
	e2e.Eventually(t, patience, fmt.Sprintf("%d instances of %s are %s", n, app, state), func() bool {
		list = instances(e, app, state)
		return len(list) >= n
	})
	return list
}

// succeeded reports whether the app has an instance that SUCCEEDED for the period
// that starts then.
func succeeded(e *e2e.Env, app string, start time.Time) bool {
	return slices.ContainsFunc(instances(e, app, "SUCCEEDED"), func(in proto.Instance) bool { return in.PeriodStart.Equal(start) })
}

// runs returns how often a job was started for each instance.
func runs(t *testing.T, out string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for name := range strings.FieldsSeq(string(text)) {
		n[name]++
	}
	return n
}

// checkConf holds what the job of an instance was given against the instances that
// its app depends on: rows of each, by its name.
func checkConf(t *testing.T, out string, in proto.Instance, upstream ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, "conf-"+in.Name))
	if err != nil {
		t.Error(err)
		return
	}
	var conf map[string]struct {
		Results map[string]struct {
			State string         `json:"state"`
			Data  map[string]any `json:"data"`
		} `json:"results"`
	}
	if err := json.Unmarshal(text, &conf); err != nil {
		t.Errorf("conf of %s: %v: %s", in.Name, err, text)
		return
	}
	if got := slices.Sorted(maps.Keys(conf)); !slices.Equal(got, upstream) {
		t.Errorf("conf of %s has %v, want %v", in.Name, got, upstream)
	}
	want := int(in.PeriodEnd.Sub(in.PeriodStart) / (2 * time.Second))
	for app, c := range conf {
		if len(c.Results) != want {
			t.Errorf("conf of %s has %d results of %s, want %d: %s", in.Name, len(c.Results), app, want, text)
		}
		for name, r := range c.Results {
			if r.State != "COMPLETE" || r.Data["rows"] != name {
				t.Errorf("conf of %s: the result of %s is %+v", in.Name, name, r)
			}
		}
	}
}

// The day of the state system over real processes: two Request Managers start each
// instance once, a feed that fails holds back exactly what depends on it, and its
// repair lets that go on. One of the managers is killed in the middle.
func TestRecurringWork(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		out := t.TempDir()
		e.Spec("recurring", strings.ReplaceAll(recurring, "@DIR", out))
		first := e.StartRM(fastSchedule...)
		if e.Database != "SQLite" { // a file of that is for one Request Manager
			e.StartRM(fastSchedule...)
		}

		// What is on a host waits for it, and says so.
		var waiting proto.Instance
		e2e.Eventually(t, patience, "an instance says that it waits for its host", func() bool {
			for _, in := range instances(e, "adx", "QUEUED") {
				waiting = in
			}
			return strings.Contains(waiting.Reason, "host db1")
		})
		e.StartJR("TREADLE_HOST=other")
		e.StartJR("TREADLE_HOST=db1")
		waitInstances(t, e, "adx", "SUCCEEDED", 2)
		// The first period of each may have begun before the feeds did.
		for _, app := range []string{"counter", "day"} {
			for _, in := range waitInstances(t, e, app, "SUCCEEDED", 2)[1:] {
				checkConf(t, out, in, "adx", "retarget")
			}
		}

		broken := breakFeed(t, e, out)
		checkHeldBack(t, e, broken)

		first.Kill9()
		first = e.StartRM(fastSchedule...)
		if first.URL() != e.URL() {
			t.Fatalf("the Request Manager is at %s", first.URL())
		}
		repair(t, e, out, broken)
		checkStartedOnce(t, e, out)
	})
}

// breakFeed has one instance of adx fail and returns it.
func breakFeed(t *testing.T, e *e2e.Env, out string) proto.Instance {
	t.Helper()
	flag := filepath.Join(out, "broken-adx")
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := waitInstances(t, e, "adx", "FAILED", 1)[0]
	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	return broken
}

// checkHeldBack waits until life went on after a broken instance of adx: other
// periods of what depends on it, and of its own period what does not.
func checkHeldBack(t *testing.T, e *e2e.Env, broken proto.Instance) {
	t.Helper()
	period := broken.PeriodStart.Truncate(4 * time.Second)
	e2e.Eventually(t, patience, "what does not depend on the broken feed goes on", func() bool {
		return succeeded(e, "report", period)
	})
	e2e.Eventually(t, patience, "later periods of what depends on it go on", func() bool {
		list := instances(e, "counter", "SUCCEEDED")
		return len(list) > 0 && list[len(list)-1].PeriodStart.After(broken.PeriodStart)
	})
	for app, start := range map[string]time.Time{"counter": period, "day": broken.PeriodStart.Truncate(8 * time.Second)} {
		if succeeded(e, app, start) {
			t.Errorf("%s ran for %s although %s failed", app, start, broken.Name)
		}
	}
	stdout, stderr, exit := e.Run("blocked")
	if exit != 0 || !strings.Contains(stdout, broken.Name) {
		t.Errorf("treadle blocked does not name %s: %d\n%s%s", broken.Name, exit, stdout, stderr)
	}
}

// repair runs all of adx again that failed, and waits until all that waited for it is
// done.
func repair(t *testing.T, e *e2e.Env, out string, broken proto.Instance) {
	t.Helper()
	failed := map[string]bool{}
	e2e.Eventually(t, patience, "the failed instances are run again", func() bool {
		for _, in := range instances(e, "adx", "FAILED") {
			if failed[in.Name] {
				continue
			}
			stdout, stderr, exit := e.Run("app", "run", "adx", "--period", in.Name)
			if exit != 0 || !strings.Contains(stdout, "yes") {
				t.Logf("treadle app run: %d\n%s%s", exit, stdout, stderr) // one manager is just starting
				return false
			}
			failed[in.Name] = true
		}
		return true
	})
	for app, length := range map[string]time.Duration{"counter": 4 * time.Second, "day": 8 * time.Second} {
		start := broken.PeriodStart.Truncate(length)
		e2e.Eventually(t, patience, app+" goes on once the feed is repaired", func() bool { return succeeded(e, app, start) })
		for _, in := range instances(e, app, "SUCCEEDED") {
			if in.PeriodStart.Equal(start) {
				checkConf(t, out, in, "adx", "retarget")
			}
		}
	}
	// Nothing was lost of what was due while a manager was dead: each period since has
	// its instance.
	list := instances(e, "retarget", "SUCCEEDED")
	for i, in := range list[1:] {
		if gap := in.PeriodStart.Sub(list[i].PeriodStart); gap != 2*time.Second && list[i].PeriodStart.After(broken.PeriodStart) {
			t.Errorf("between %s and %s there is a gap of %s", list[i].Name, in.Name, gap)
		}
	}
}

// checkStartedOnce holds what jobs noted against the instances: one start for each,
// however many managers there were, and numbers without a hole.
func checkStartedOnce(t *testing.T, e *e2e.Env, out string) {
	t.Helper()
	for _, app := range []string{"adx", "retarget", "counter", "report", "day"} {
		if a := e.Do(http.MethodPut, "/api/v1/apps/"+app+"/pause", nil); a.Status != http.StatusOK {
			t.Fatalf("pause of %s: %d %s", app, a.Status, a.Body)
		}
	}
	e2e.Eventually(t, patience, "nothing runs any more", func() bool {
		return len(instances(e, "", "RUNNING")) == 0
	})
	n := runs(t, out)
	for _, app := range []string{"adx", "retarget", "counter", "report", "day"} {
		want := map[string]int{}
		numbers := map[uint64]bool{}
		for _, in := range append(instances(e, app, "SUCCEEDED"), instances(e, app, "FAILED")...) {
			want[in.Name]++
			numbers[in.Number] = true
		}
		for _, in := range instances(e, app, "QUEUED") { // the next one, which may have been made before one that ran again
			numbers[in.Number] = true
		}
		for name, w := range want {
			if n[name] != w {
				t.Errorf("%s has %d instances and was started %d times", name, w, n[name])
			}
		}
		for i := range uint64(len(numbers)) {
			if !numbers[i+1] {
				t.Errorf("%s has no instance number %d, of %d", app, i+1, len(numbers))
			}
		}
	}
}

// What users can do to apps over the API and with verbs, and what they are refused.
func TestAppsAreMadeAndChanged(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		out := t.TempDir()
		e.Spec("recurring", strings.ReplaceAll(recurring, "@DIR", out))
		e.StartRM(fastSchedule...)
		e.StartJR("TREADLE_HOST=db1")
		for _, tc := range []struct {
			name, method, path string
			body               any
			status             int
			message            string
		}{
			{"of the specs", "PUT", "adx", map[string]any{"request": "count", "every": "1m"}, 409, "specs"},
			{"of the specs", "DELETE", "adx", nil, 409, "specs"},
			{"unknown request", "PUT", "mine", map[string]any{"request": "cuont", "every": "1m"}, 400, "request"},
			{"unknown zone", "PUT", "mine", map[string]any{"request": "check-feed", "starts": "daily", "timezone": "Europe/Brusels", "args": map[string]any{"feed": "x", "out": out}}, 400, "timezone"},
			{"unknown field", "PUT", "mine", map[string]any{"request": "check-feed", "evry": "1m"}, 400, "evry"},
			{"two clocks", "PUT", "mine", map[string]any{"request": "check-feed", "every": "1m", "cron": "@daily", "args": map[string]any{"feed": "x", "out": out}}, 400, "cron"},
			{"negative timeout", "PUT", "mine", map[string]any{"request": "check-feed", "every": "1m", "timeout": -5, "args": map[string]any{"feed": "x", "out": out}}, 400, "timeout"},
			{"missing arg", "PUT", "mine", map[string]any{"request": "check-feed", "every": "1m"}, 400, "feed"},
			{"unknown upstream", "PUT", "mine", map[string]any{"request": "count", "depends": map[string]string{"nobody": "4s"}, "args": map[string]any{"out": out}}, 400, "nobody"},
			{"finer than the upstream", "PUT", "mine", map[string]any{"request": "count", "depends": map[string]string{"adx": "1s"}, "args": map[string]any{"out": out}}, 400, "adx"},
			{"bad name", "PUT", "my%20app", map[string]any{"request": "check-feed", "every": "1m", "args": map[string]any{"feed": "x", "out": out}}, 400, "name"},
			{"nothing of it was stored", "GET", "mine", nil, 404, "mine"},
			{"delete what is not there", "DELETE", "mine", nil, 404, "mine"},
			{"pause what is not there", "PUT", "mine/pause", nil, 404, "mine"},
			{"run what is not there", "POST", "mine/run", map[string]any{"period": "2011-01-02T00:00:00Z"}, 404, "mine"},
			{"periods of what is not there", "GET", "mine/periods", nil, 404, "mine"},
			{"no such period", "POST", "adx/run", map[string]any{"period": "yesterday"}, 400, "period"},
		} {
			a := e.Do(tc.method, "/api/v1/apps/"+tc.path, tc.body)
			if a.Status != tc.status || !strings.Contains(string(a.Body), tc.message) {
				t.Errorf("%s: %d %s, want %d and %q", tc.name, a.Status, a.Body, tc.status, tc.message)
			}
		}

		file := filepath.Join(e.Dir, "mine.yaml")
		text := "name: mine\nrequest: check-feed\nargs: {feed: mine, out: " + out + "}\nevery: 1h\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ends := func(code int, want string, args ...string) {
			t.Helper()
			stdout, stderr, exit := e.Run(args...)
			if exit != code || !strings.Contains(stdout, want) {
				t.Errorf("treadle %s: exit %d\n%s%s", strings.Join(args, " "), exit, stdout, stderr)
			}
		}
		run := func(want string, args ...string) {
			t.Helper()
			ends(0, want, args...)
		}
		run("every 1h0m0s", "app", "put", file)
		run("mine", "apps")
		run("yes", "app", "run", "mine", "--from", "2011-01-02T00:00:00Z", "--to", "2011-01-02T03:00:00Z")
		waitInstances(t, e, "mine", "SUCCEEDED", 3)
		run("2011-01-02-0200-mine", "periods", "mine", "--since", "2011-01-02T00:00:00Z", "--until", "2011-01-02T03:00:00Z")
		ends(1, "it has", "app", "run", "mine", "--from", "2011-01-02T00:00:00Z", "--to", "2011-01-02T03:00:00Z")
		run("yes", "app", "run", "mine", "--period", "2011-01-02-0100-mine", "--again")
		waitInstances(t, e, "mine", "SUCCEEDED", 4)
		run("paused", "app", "pause", "mine")
		run("paused", "app", "mine")
		run("is resumed", "app", "resume", "mine")
		run("deleted", "app", "delete", "mine")
		if a := e.Do(http.MethodGet, "/api/v1/apps/mine", nil); a.Status != http.StatusNotFound {
			t.Errorf("the deleted app: %d %s", a.Status, a.Body)
		}
		if n := runs(t, out)["2011-01-02-0100-mine"]; n != 2 {
			t.Errorf("the period that was run again was started %d times", n)
		}
	})
}
