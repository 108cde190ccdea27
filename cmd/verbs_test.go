package cmd

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestVerbsShowWhatTheRequestManagerSays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		want []string // lines, with their columns one space apart
	}{
		{[]string{"status", id}, []string{id + " hello RUNNING 1/3 jobs, started 1m ago"}},
		{[]string{"info", id}, []string{"type hello", "state RUNNING", "user ada", "jobs 1/3 complete", "finished -", "name Ada given", "count 3 default",
			"a-1 a shell COMPLETE -", "b-2 b sleep RUNNING 2, every 3s", "c-10 c noop PENDING -"}},
		{[]string{"log", id}, []string{"b-2 (b), try 1: FAIL", "error: exit code 7 [2J", "stderr:", "...", "11", " [31mred"}},
		{[]string{"log", id, "a-1", "--full"}, []string{"a-1 (a), try 1: COMPLETE", "stdout:", "fine"}},
		{[]string{"stop", id}, []string{id + " hello RUNNING 1/3 jobs, started 1m ago"}},
		{[]string{"ps"}, []string{"ID REQUEST JOB NAME TRY RUNTIME STATUS", id + " hello b-2 b 2 1m0s 12s left"}},
		{[]string{"running", id}, []string{"RUNNING"}},
		{[]string{"requests"}, []string{"deploy app=... count=... token=... [ratio=...] [dry=...] [hosts=...] [meta=...] [note=...]", "hello"}},
		{[]string{"help", "deploy"}, []string{"app required string, matches ^[a-z]+$ - What to deploy", "token required any, secret - -",
			"ratio optional float 0.5 -", "channel static any #ops -", `note optional any "" -`}},
		{[]string{"requests", "hello"}, []string{"treadle start hello"}},
		{[]string{"help", "status"}, []string{"treadle status ID [flags]"}},
		{[]string{"drain", "r1"}, []string{"r1 is draining"}},
		{[]string{"drain", "r1", "--off"}, []string{"r1 accepts job chains again"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			r := newFake(t).treadle(t, tt.args...)
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.stderr)
			}
			lines := map[string]bool{}
			for l := range strings.SplitSeq(r.stdout, "\n") {
				lines[l] = true
				lines[strings.Join(strings.Fields(l), " ")] = true
			}
			for _, w := range tt.want {
				if !lines[w] {
					t.Errorf("no line %q in:\n%s", w, r.stdout)
				}
			}
			if strings.Contains(r.stdout, "\x1b") {
				t.Errorf("an escape sequence of a job reaches the terminal: %q", r.stdout)
			}
		})
	}
}

func TestFindAndRunnersShowLocalTimesWithAge(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	has(t, "find", f.treadle(t, "find").stdout, "(2m ago)", "(30s ago)", "COMPLETE", "3/3")
	has(t, "runners", f.treadle(t, "runners").stdout, "http://127.0.0.1:4000", "db1", "1/4", "draining", "zone=a", "(1m ago)")
	has(t, "ps", f.treadle(t, "ps").stderr, "these Job Runners do not answer, so their jobs are missing here: http://10.0.0.9:32307")
}

func TestOutputJSONIsTheObjectOfTheAPI(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"start hello", "status " + id, "info " + id, "log " + id, "find", "ps", "running " + id, "requests", "help deploy", "runners", "stop " + id, "drain r1",
		"apps", "app counter", "app pause counter", "app resume counter", "app delete counter", "app run counter --period 2011-01-02-1300-counter",
		"periods counter", "blocked", "instances", "schedule next counter", "schedule members", "schedule shards 8",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			r := newFake(t).treadle(t, append(strings.Fields(args), "--output", "json")...)
			var x any
			if err := json.Unmarshal([]byte(r.stdout), &x); err != nil || r.code != 0 {
				t.Errorf("exit code %d, %v: %s%s", r.code, err, r.stdout, r.stderr)
			}
		})
	}
}

func TestFindSendsItsFilter(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.treadle(t, "find", "--type", "deploy", "--user", "ada", "--state", "running", "--state", "FAIL", "--arg", "app=a%b",
		"--since", "2h", "--until", "2026-03-01T13:00:00+02:00", "--limit", "5", "--offset", "10")
	if r.code != 0 {
		t.Fatal(r.stderr)
	}
	want := "GET /api/v1/requests?arg=app%3Da%25b&limit=5&offset=10&since=2026-03-01T10%3A02%3A00Z&state=RUNNING&state=FAIL" +
		"&type=deploy&until=2026-03-01T11%3A00%3A00Z&user=ada"
	if got := f.calls[0]; got != want {
		t.Errorf("asked for\n%s, want\n%s", got, want)
	}
}

func TestDrainTakesAURL(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.treadle(t, "drain", "http://127.0.0.1:4000")
	if got, want := f.calls[0], "PUT /api/v1/job-runners/http:%2F%2F127.0.0.1:4000/drain?on=true"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
}

func TestRunningSaysItByExitCode(t *testing.T) {
	t.Parallel()
	for state, want := range map[int]int{1: 0, 2: 0, 7: 0, 3: 1, 4: 1, 6: 1} {
		f := newFake(t)
		f.request = requestJSON(state, 0, "")
		if r := f.treadle(t, "running", id); r.code != want {
			t.Errorf("state %d: exit code %d, want %d", state, r.code, want)
		}
	}
}

func TestExitCodesAndMessages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args   string
		status int // that everything is refused with; 0 is none
		code   int
		want   string // of stderr
	}{
		{args: "", code: 0},
		{args: "help", code: 0},
		{args: "version", code: 0},
		{args: "statsu x", code: 2, want: `treadle: unknown command "statsu", did you mean status?`},
		{args: "frobnicate", code: 2, want: `treadle: unknown command "frobnicate"; treadle help lists all`},
		{args: "status", code: 2, want: "treadle: missing argument: the ID of the request"},
		{args: "stop", code: 2, want: "treadle: missing argument: the ID of at least one request"},
		{args: "status a b", code: 2, want: "treadle: too many arguments, expected the ID of the request"},
		{args: "find x", code: 2, want: "treadle: too many arguments"},
		{args: "find --nope", code: 2, want: "treadle: unknown flag: --nope; see treadle help"},
		{args: "find --limit -1", code: 2, want: `treadle: --limit must be a whole number of at least 0, not "-1"`},
		{args: "find --offset x", code: 2, want: `treadle: --offset must be a whole number of at least 0, not "x"`},
		{args: "find --state SLEEPING", code: 2, want: `treadle: --state: unknown state "SLEEPING": expected one of PENDING`},
		{args: "find --arg x", code: 2, want: `treadle: --arg: expected name=value, not "x"`},
		{args: "find --since yesterday", code: 2, want: `treadle: --since: "yesterday" is neither a time`},
		{args: "find --limit 0 --offset 3", code: 2, want: "treadle: --offset needs a --limit"},
		{args: "ps --output xml", code: 2, want: `treadle: --output: expected text, wide or json, not "xml"`},
		{args: "ps --addr ftp://x", code: 2, want: "treadle: address of the Request Manager: expected http://host:port"},
		{args: "ps --addr 127.0.0.1:1", code: 3, want: "treadle: cannot reach the request manager at http://127.0.0.1:1 (connection refused): start one with treadle dev, or name another with --addr"},
		{args: "status " + other, code: 2, want: "treadle: no request with that id"},
		{args: "log " + id + " zzz", code: 2, want: `has no finished try of a job "zzz"`},
		{args: "help depoly", code: 2, want: `treadle: unknown request type "depoly", did you mean deploy?`},
		{args: "help zzz", code: 2, want: `treadle: unknown request type "zzz"; treadle requests lists them`},
		{args: "stop " + id, status: 409, code: 1, want: "treadle: the message"},
		{args: "stop " + id, status: 400, code: 2, want: "treadle: the message"},
		{args: "stop " + id, status: 422, code: 2, want: "treadle: the message"},
		{args: "stop " + id, status: 403, code: 1, want: "treadle: the message"},
		{args: "stop " + id, status: 500, code: 1, want: "treadle: the message"},
		{args: "stop " + id, status: 503, code: 3, want: "treadle: the message"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			if tt.status != 0 {
				f.status = tt.status
				f.refuse = fmt.Sprintf(`{"message": "the message", "requestId": "", "httpStatus": %d}`, tt.status)
			}
			r := f.treadle(t, strings.Fields(tt.args)...)
			if r.code != tt.code {
				t.Errorf("exit code %d, want %d", r.code, tt.code)
			}
			has(t, "stderr", r.stderr, tt.want)
			if n := strings.Count(r.stderr, "\n"); tt.want != "" && n != 1 {
				t.Errorf("an error has %d lines:\n%s", n, r.stderr)
			}
		})
	}
}

func TestVersionIsTextAndJSON(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, args := range [][]string{{"version"}, {"--version"}} {
		r := f.treadle(t, args...)
		if r.code != 0 || !strings.HasPrefix(r.stdout, "treadle ") || !strings.HasSuffix(r.stdout, runtime.GOOS+"/"+runtime.GOARCH+")\n") {
			t.Errorf("%v: exit code %d: %q", args, r.code, r.stdout)
		}
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(f.treadle(t, "version", "--output", "json").stdout), &v); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"version", "commit", "date", "modified", "go", "os", "arch"} {
		if _, ok := v[key]; !ok {
			t.Errorf("the JSON has no %q: %v", key, v)
		}
	}
}

func TestStopTakesSeveralIDs(t *testing.T) {
	t.Parallel()
	line := id + " hello RUNNING 1/3 jobs, started 1m ago\n"
	f := newFake(t)
	if r := f.treadle(t, "stop", id, id); r.code != 0 || r.stdout != line+line {
		t.Errorf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	r := f.treadle(t, "stop", other, id)
	if r.code != 2 || r.stdout != line {
		t.Errorf("one is unknown: exit code %d: %s", r.code, r.stdout)
	}
	if want := "treadle: " + other + ": no request with that id\n"; r.stderr != want {
		t.Errorf("stderr %q, want %q", r.stderr, want)
	}
	var list []map[string]any
	r = f.treadle(t, "stop", id, id, "--output", "json")
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || len(list) != 2 {
		t.Errorf("%v: %s", err, r.stdout)
	}
}
