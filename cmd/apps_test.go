package cmd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	lastJSON = `{"app": "counter", "number": 7, "sequence": 5, "name": "2026-03-01-1000-counter", "state": "FAILED", "periodStart": "2026-03-01T10:00:00Z",
 "periodEnd": "2026-03-01T11:00:00Z", "run": 1, "host": "db1", "due": "2026-03-01T11:00:00Z", "startedAt": "2026-03-01T11:00:01Z",
 "finishedAt": "2026-03-01T11:02:00Z", "recurring": false, "requestId": "d3k1b2v0s5mg00a1b2c0", "reason": "exit code\u001b[31m 7"}`
	nextJSON = `{"app": "counter", "number": 8, "sequence": 1, "name": "2026-03-01-1200-counter", "state": "QUEUED", "periodStart": "2026-03-01T12:00:00Z",
 "periodEnd": "2026-03-01T13:00:00Z", "run": 0, "due": "2026-03-01T13:02:00Z", "startedAt": null, "finishedAt": null, "recurring": true}`
	counterJSON = `{"name": "counter", "request": "count", "args": {"feed": "adx", "n": 3}, "depends": {"b": "hourly", "a": "hourly"}, "host": "db1",
 "timezone": "Europe/Brussels", "timeout": "1h40m0s", "missed": "last", "source": "api", "paused": true, "since": "2026-03-01T11:32:00Z",
 "running": 2, "problem": "upstream app b is not there", "next": ` + nextJSON + `, "last": ` + lastJSON + `}`
	periodsJSON = `[{"app": "counter", "name": "2026-03-01-1100-counter", "start": "2026-03-01T11:00:00Z", "end": "2026-03-01T12:00:00Z", "due": "2026-03-01T12:00:00Z",
 "state": "waiting", "startedAt": null, "finishedAt": null, "late": true, "waits": ["adx", "retarget"], "blocks": ["day"], "reason": "held", "why": "gap"}]`
	blockedJSON = `[{"app": "counter", "name": "2026-03-01-1100-counter", "start": "2026-03-01T11:00:00Z", "end": "2026-03-01T12:00:00Z",
 "on": [{"app": "adx", "expected": 24, "done": 23, "first": "2026-03-01-1100-adx", "why": "it FAILED"}, {"app": "retarget", "expected": 24, "done": 24}]}]`
)

// scheduleAnswers are what the fake Request Manager says of recurring work.
var scheduleAnswers = map[string]string{
	"GET /apps": `[` + counterJSON + `, {"name": "sweep", "request": "sweep", "every": "1m30s", "source": "specs", "paused": false, "since": "2026-03-01T11:32:00Z", "running": 0},
 {"name": "nightly", "request": "backup", "cron": "30 2 * * *", "source": "specs", "paused": false, "since": "2026-03-01T11:32:00Z", "running": 1}]`,
	"GET /apps/counter":         counterJSON,
	"PUT /apps/counter":         counterJSON,
	"DELETE /apps/counter":      "",
	"PUT /apps/counter/pause":   "",
	"PUT /apps/counter/resume":  "",
	"PUT /apps/counter/undo":    "",
	"GET /apps/counter/periods": periodsJSON,
	"POST /apps/counter/run": `{"periods": [{"name": "2026-03-01-1000-counter", "start": "2026-03-01T10:00:00Z", "made": true},
 {"name": "2026-03-01-1100-counter", "start": "2026-03-01T11:00:00Z", "made": false, "why": "it has SUCCEEDED"}]}`,
	"GET /apps/counter/next": `[{"name": "2026-03-01-1200-counter", "start": "2026-03-01T12:00:00Z", "end": "2026-03-01T13:00:00Z",
 "due": "2026-03-01T12:03:00Z", "why": "the clock is put forward"}]`,
	"GET /blocked":   blockedJSON,
	"GET /instances": `[` + lastJSON + `]`,
	"GET /apps/counter/events": `[{"id": 5, "app": "counter", "kind": "skipped", "periodStart": "2026-03-01T09:00:00Z", "periodTo": "2026-03-01T11:00:00Z",
 "count": 3, "reason": "missed", "at": "2026-03-01T12:00:00Z"}]`,
	"GET /schedule/members": `[{"id": "rm/7/x", "host": "rm1", "pid": 7, "version": "v1", "startedAt": "2026-03-01T12:00:00Z", "heartbeatAt": "2026-03-01T12:01:59Z",
 "live": true, "shards": 40}, {"id": "rm/8/y", "host": "rm2", "pid": 8, "version": "", "startedAt": "2026-03-01T12:00:00Z", "heartbeatAt": "2026-03-01T12:00:10Z", "live": false, "shards": 0}]`,
	"PUT /schedule/shards": "",
}

// squeezed is text with one space between its columns.
func squeezed(text string) string {
	var lines []string
	for l := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.Join(strings.Fields(l), " "))
	}
	return strings.Join(lines, "\n")
}

func TestVerbsShowRecurringWork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		want []string // in the output, with columns one space apart
	}{
		{"apps", []string{"NAME REQUEST STARTS HOST STATE FROM PROBLEM", "counter count after a and b, hourly Europe/Brussels db1 paused, 2 running api upstream app b is not there",
			"sweep sweep every 1m30s - idle specs -", "nightly backup 30 2 * * * - 1 running specs"}},
		{"app counter", []string{"name counter", "arg feed adx", "arg n 3", "timeout 1h40m0s", "missed last", "declared with the API", "state paused, 2 running", "problem upstream app b is not there",
			"next 2026-03-01-1200-counter", "(in 1h)", "last 2026-03-01-1000-counter FAILED", "(1h ago), request " + id + ": exit code [31m 7"}},
		{"app pause counter", []string{"counter is paused"}},
		{"app resume counter", []string{"counter is resumed"}},
		{"app delete counter", []string{"counter is deleted"}},
		{"app undo counter 2026-03-01-1000-counter --retry", []string{"2026-03-01-1000-counter is being undone"}},
		{"app undo counter 2026-03-01-1000-counter --give-up", []string{"2026-03-01-1000-counter has FAILED, its undo is abandoned"}},
		{"app run counter --from 2026-03-01 --to 2d", []string{"PERIOD START RUNS WHY NOT", "(2h ago) yes", "(1h ago) no it has SUCCEEDED"}},
		{"periods counter", []string{"PERIOD STATE DUE STARTED FINISHED RUN REQUEST WHY", "2026-03-01-1100-counter waiting, late",
			"- - 0 - waits for adx, retarget; blocks day; held; gap"}},
		{"blocked", []string{"PERIOD WAITS FOR DONE FIRST MISSING WHY", "2026-03-01-1100-counter adx 23/24 2026-03-01-1100-adx it FAILED",
			"2026-03-01-1100-counter retarget 24/24 - -"}},
		{"instances", []string{"INSTANCE STATE RUN HOST DUE STARTED FINISHED REQUEST REASON", "2026-03-01-1000-counter FAILED 1 db1"}},
		{"events counter", []string{"ID AT EVENT FROM TO PERIODS REASON", "(2m ago) skipped", "(3h ago)", "(1h ago) 3 missed"}},
		{"schedule next counter", []string{"INSTANCE DUE WHY", "(in 1m) the clock is put forward"}},
		{"schedule members", []string{"rm/7/x rm1 7 live 40", "rm/8/y rm2 8 stale 0"}},
		{"schedule shards 8", []string{"the apps are in 8 shards"}},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			r := newFake(t).treadle(t, strings.Fields(tt.args)...)
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.stderr)
			}
			has(t, "output", squeezed(r.stdout), tt.want...)
			if strings.Contains(r.stdout, "\x1b") {
				t.Errorf("an escape sequence reaches the terminal: %q", r.stdout)
			}
		})
	}
}

func TestWhatVerbsOfRecurringWorkAskFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, call, body string
	}{
		{"app undo counter 2026-03-01-1000-counter --give-up", "PUT /api/v1/apps/counter/undo", `{"instance":"2026-03-01-1000-counter","do":"give-up"}`},
		{"app run counter --period 2026-03-01-1000-counter", "POST /api/v1/apps/counter/run", `{"period":"2026-03-01-1000-counter"}`},
		{"app run counter --from 2026-03-01T10:00:00Z --to 1h --again --force", "POST /api/v1/apps/counter/run",
			`{"from":"2026-03-01T10:00:00Z","to":"2026-03-01T11:02:00Z","again":true,"force":true}`},
		{"periods counter --since 2h --until 1h --limit 5", "GET /api/v1/apps/counter/periods?limit=5&since=2026-03-01T10%3A02%3A00Z&until=2026-03-01T11%3A02%3A00Z", ""},
		{"schedule next counter -n 3", "GET /api/v1/apps/counter/next?n=3", ""},
		{"schedule next counter --from 2026-03-08T00:00:00Z", "GET /api/v1/apps/counter/next?from=2026-03-08T00%3A00%3A00Z&n=10", ""},
		{"blocked", "GET /api/v1/blocked", ""},
		{"blocked --app counter --limit 3", "GET /api/v1/blocked?app=counter&limit=3", ""},
		{"events counter", "GET /api/v1/apps/counter/events", ""},
		{"events counter --after 7 --limit 3", "GET /api/v1/apps/counter/events?limit=3&since=7", ""},
		{"schedule shards 8", "PUT /api/v1/schedule/shards", `{"shards":8}`},
		{"instances --app counter --host db1 --state failed --state QUEUED --limit 7 --offset 3",
			"GET /api/v1/instances?app=counter&host=db1&limit=7&offset=3&state=FAILED&state=QUEUED", ""},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			if r := f.treadle(t, strings.Fields(tt.args)...); r.code != 0 {
				t.Fatal(r.stderr)
			}
			if f.calls[0] != tt.call || f.bodies[0] != tt.body {
				t.Errorf("asked %s %s\nwant %s %s", f.calls[0], f.bodies[0], tt.call, tt.body)
			}
		})
	}
}

func TestAppPutReadsYAMLAndJSON(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "app.yaml")
	writeFile(t, file, `
# counted each hour
name: counter
request: count
args: {feed: adx, n: 3, ratio: 2.0}
depends: {a: hourly, b: hourly}
timeout: 6000
`)
	for name, args := range map[string][]string{"file": {file, ""}, "stdin": {"-",
		`{"name": "counter", "request": "count", "args": {"feed": "adx", "n": 3, "ratio": 2.0}, "depends": {"a": "hourly", "b": "hourly"}, "timeout": "1h40m"}`}} {
		f := newFake(t)
		r := f.treadleWith(t.Context(), map[string]string{"TREADLE_ADDR": f.URL}, args[1], "app", "put", args[0])
		if r.code != 0 {
			t.Fatalf("%s: %s", name, r.stderr)
		}
		var got, want any
		if err := json.Unmarshal([]byte(f.bodies[0]), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(`{"name": "counter", "request": "count", "args": {"feed": "adx", "n": 3, "ratio": 2.0},
			"depends": {"a": "hourly", "b": "hourly"}, "timeout": "1h40m0s"}`), &want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if !strings.Contains(f.bodies[0], `"ratio":2.0`) {
			t.Errorf("%s: a float is no float any more: %s", name, f.bodies[0])
		}
	}
}

func TestBadInputOfRecurringWork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, stdin string
		want        string
	}{
		{"app", "", "treadle: missing argument: the NAME of the app"},
		{"app put -", "request: x", "treadle: stdin: name is missing"},
		{"app put -", "name: x\nevry: 1m", `treadle: stdin: unknown field "evry"`},
		{"app put -", "[1]", "treadle: stdin: expected the fields of one app"},
		{"app put -", "name: [", "treadle: stdin: yaml: line 1:"},
		{"app put -", "name: x\n---\nname: y", "treadle: stdin: expected one app, found another document"},
		{"app put -", "name: x\nevery: 90", `treadle: stdin: expected a duration such as "30s"`},
		{"app put -", "name: x\ntimeout: 0", "treadle: stdin: `timeout` must be more than 0; leave it out for none"},
		{"app put -", "name: x\nhost: 7", "treadle: stdin: host: a number does not fit"},
		{"app put /nope", "", "no such file"},
		{"app undo counter x", "", "treadle: expected exactly one of --retry and --give-up"},
		{"app undo counter x --retry --give-up", "", "treadle: expected exactly one of --retry and --give-up"},
		{"app run counter", "", "treadle: no periods given: use --period, or --from and --to"},
		{"app run counter --from 1d", "", "treadle: no periods given: use --period, or --from and --to"},
		{"app run counter --period x --to 1d", "", "treadle: --period cannot be combined with --from and --to"},
		{"instances --state COMPLETE", "", `treadle: --state: unknown state "COMPLETE": expected one of QUEUED`},
		{"instances --limit 0 --offset 5", "", "treadle: --offset needs a --limit"},
		{"periods counter --since soon", "", `treadle: --since: "soon" is neither a time`},
		{"schedule shards many", "", `treadle: N must be a whole number of at least 1, not "many"`},
		{"schedule next counter --from soon", "", `treadle: --from: "soon" is neither a time`},
		{"events", "", "treadle: missing argument: the NAME of the app"},
		{"schedule next counter -n 0", "", "treadle: --number must be from 1 to 1000"},
		{"app show", "", "treadle: no request with that id"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			r := f.treadleWith(t.Context(), map[string]string{"TREADLE_ADDR": f.URL}, tt.stdin, strings.Fields(tt.args)...)
			if r.code != 2 || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("exit code %d, %q", r.code, r.stderr)
			}
			has(t, "stderr", r.stderr, tt.want)
		})
	}
}

func TestScheduleNextOfSpecs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "apps.yaml"), `
sequences:
  backup: {request: true, nodes: {go: {category: job, type: noop}}}
apps:
  nightly: {request: backup, cron: "30 2 * * *", timezone: America/New_York}
`)
	f := newFake(t)
	r := f.treadle(t, "schedule", "next", "nightly", "-n", "9", "--specs", dir)
	if r.code != 0 || len(f.calls) > 0 {
		t.Fatalf("exit code %d, calls %v: %s", r.code, f.calls, r.stderr)
	}
	// The tests' now is a week before the clock is put forward.
	has(t, "next times", r.stdout, "2026-03-02-0230-nightly", "2026-03-08-0300-nightly", "2026-03-09-0230-nightly")
	if n := strings.Count(r.stdout, "-nightly"); n != 9 {
		t.Errorf("%d times, want 9:\n%s", n, r.stdout)
	}
	for l := range strings.Lines(r.stdout) {
		if odd := strings.Contains(l, "2026-03-08"); odd != (len(strings.Fields(l)) > 6) && !strings.HasPrefix(l, "INSTANCE") {
			t.Errorf("only the time in the gap has a reason: %s", l)
		}
	}
	r = f.treadle(t, "schedule", "next", "nightly", "-n", "1", "--from", "2026-11-01T07:30:00Z", "--specs", dir)
	has(t, "next times from then on", r.stdout, "2026-11-01-0230-nightly")
	if r := f.treadle(t, "schedule", "next", "nigthly", "--specs", dir); r.code != 2 {
		t.Errorf("exit code %d", r.code)
	} else {
		has(t, "stderr", r.stderr, "did you mean nightly?")
	}
}

func TestExitCodeOfAppRun(t *testing.T) {
	t.Parallel()
	const line = `{"name": "2026-03-01-1%d00-counter", "start": "2026-03-01T1%[1]d:00:00Z", "made": %t, "why": "it runs"}`
	for _, tt := range []struct {
		name string
		made []bool
		want int
	}{
		{"all", []bool{true, true}, 0},
		{"some", []bool{false, true}, 0},
		{"none", []bool{false, false}, 1},
		{"no period", nil, 1},
	} {
		var lines []string
		for i, made := range tt.made {
			lines = append(lines, fmt.Sprintf(line, i, made))
		}
		for _, format := range []string{"text", "json"} {
			answer := `{"periods": [` + strings.Join(lines, ",") + `]}`
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
			t.Cleanup(s.Close)
			f := &fake{Server: s}
			r := f.treadle(t, "app", "run", "counter", "--from", "2026-03-01", "--to", "1h", "--output", format)
			if r.code != tt.want {
				t.Errorf("%s, %s: exit code %d, want %d: %s", tt.name, format, r.code, tt.want, r.stderr)
			}
			if want := "it runs"; len(tt.made) > 0 && !strings.Contains(r.stdout, want) {
				t.Errorf("%s, %s: no %q in\n%s", tt.name, format, want, r.stdout)
			}
		}
	}
}
