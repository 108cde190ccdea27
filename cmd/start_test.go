package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
)

func TestStartSendsArgsAndAKeyAndPrintsTheID(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.treadle(t, "start", "deploy", "app=shop", "count=2", "token=s", "hosts=a,b")
	if r.code != 0 || r.stdout != id+"\n" {
		t.Fatalf("exit code %d, stdout %q: %s", r.code, r.stdout, r.stderr)
	}
	want := map[string]any{"Type": "deploy", "User": "", "Args": map[string]any{
		"app": "shop", "count": 2.0, "token": "s", "hosts": []any{"a", "b"},
	}}
	if d := cmp.Diff(want, f.created[0]); d != "" {
		t.Error(d)
	}
	if len(f.keys[0]) != 20 {
		t.Errorf("Idempotency-Key is %q, want an id of its own", f.keys[0])
	}
	if f.users[0] != "ada" {
		t.Errorf("user %q, want that of TREADLE_USER", f.users[0])
	}
	f.treadle(t, "start", "hello", "--key", "mine")
	f.treadle(t, "start", "hello")
	if f.keys[1] != "mine" || f.keys[2] == f.keys[0] {
		t.Errorf("keys %q", f.keys)
	}
}

func TestStartReadsAFileOfArgs(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	file := filepath.Join(t.TempDir(), "args.json")
	writeFile(t, file, `{"app": "shop", "count": 3, "token": "t"}`)
	if r := f.treadle(t, "start", "deploy", "--args-file", file, "count=4"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	env := map[string]string{"TREADLE_ADDR": f.URL}
	if r := f.treadleWith(t.Context(), env, `{"app": "shop", "count": 3, "token": "t"}`, "start", "deploy", "--args-file", "-"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	for i, want := range []float64{4, 3} {
		if got := f.created[i]["Args"].(map[string]any)["count"]; got != want {
			t.Errorf("count is %v, want %v", got, want)
		}
	}
}

func TestStartRefusesBadInputBeforeItStartsAnything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list := filepath.Join(dir, "list.json")
	writeFile(t, list, `["a"]`)
	twice := filepath.Join(dir, "twice.json")
	writeFile(t, twice, `{"app": "shop", "meta": {"a": 1, "a": 2}}`)
	null := filepath.Join(dir, "null.json")
	writeFile(t, null, `null`)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"deploi"}, `unknown request type "deploi", did you mean deploy?`},
		{[]string{"deploy", "app=x"}, "deploy needs count=... token=...; treadle help deploy describes them"},
		{[]string{"deploy", "count=x"}, `arg count: "x" is not a whole number`},
		{[]string{"deploy", "--args-file", list}, "must have one JSON object"},
		{[]string{"deploy", "--args-file", twice}, twice + `: meta: key "a" is given twice`},
		{[]string{"deploy", "--args-file", null}, "must have one JSON object"},
		{[]string{"deploy", "--args-file", dir + "/none"}, "no such file"},
	} {
		f := newFake(t)
		r := f.treadle(t, append([]string{"start"}, tt.args...)...)
		if r.code != 2 || len(f.created) != 0 {
			t.Errorf("%v: exit code %d, %d requests", tt.args, r.code, len(f.created))
		}
		has(t, "stderr", r.stderr, "treadle: ", tt.want)
	}
}

func TestWaitShowsProgressAndItsExitCodeIsTheResult(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		final int
		more  string
		code  int
		want  string
	}{
		{"complete", 3, "", 0, "COMPLETE after 1m30s, 3/3 jobs"},
		{"fail", 4, `, "reason": "job b (b-2) failed"`, 1, "FAIL after 1m30s, 3/3 jobs: job b (b-2) failed\nsee: treadle log " + id},
		{"stopped", 6, `, "reason": "stopped by request"`, 1, "STOPPED after 1m30s, 3/3 jobs: stopped by request"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.events = []string{
				requestJSON(1, 0, ""), requestJSON(2, 0, ""), requestJSON(2, 1, ""), requestJSON(2, 1, ""),
				requestJSON(7, 1, ""), requestJSON(2, 2, `, "stopRequested": true`), requestJSON(tt.final, 3, tt.more),
			}
			want := strings.Join([]string{
				id, "PENDING 0/3 jobs", "RUNNING 0/3 jobs", "RUNNING 1/3 jobs", "SUSPENDED 1/3 jobs", "RUNNING 2/3 jobs, stopping", tt.want, "",
			}, "\n")
			r := f.treadle(t, "start", "hello", "--wait")
			if r.code != tt.code || r.stdout != want {
				t.Errorf("exit code %d, want %d; stdout:\n%s\nwant:\n%s\nstderr: %s", r.code, tt.code, r.stdout, want, r.stderr)
			}
			if w := f.treadle(t, "watch", id); w.stdout != want || w.code != tt.code {
				t.Errorf("watch: exit code %d:\n%s", w.code, w.stdout)
			}
			j := f.treadle(t, "watch", id, "--output", "json")
			var req proto.Request
			if err := json.Unmarshal([]byte(j.stdout), &req); err != nil || req.State != proto.State(tt.final) || j.code != tt.code {
				t.Errorf("watch --output json: exit code %d, %v: %s", j.code, err, j.stdout)
			}
		})
	}
}

func TestWaitAsksWhatRuns(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.events, f.hold = []string{requestJSON(2, 1, "")}, true
	ctx, cancel := context.WithCancel(t.Context())
	out := &watchWriter{text: "now: b", then: cancel}
	p := &program{stdin: strings.NewReader(""), out: &term.Out{Stdout: out, Stderr: &bytes.Buffer{}, Now: now},
		env: verb.Environment{"TREADLE_ADDR": f.URL}}
	if code := p.run(ctx, []string{"watch", id}); code != verb.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	has(t, "stdout", out.String(), "RUNNING 1/3 jobs, now: b\n")
}

func TestCtrlCLeavesTheRequestRunningAndSaysSo(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.events, f.hold = []string{requestJSON(2, 1, "")}, true
	ctx, cancel := context.WithCancel(t.Context())
	var stderr bytes.Buffer
	out := &watchWriter{text: "RUNNING", then: cancel}
	p := &program{stdin: strings.NewReader(""), out: &term.Out{Stdout: out, Stderr: &stderr, Now: now},
		env: verb.Environment{"TREADLE_ADDR": f.URL}}
	if code := p.run(ctx, []string{"start", "hello", "--wait"}); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	has(t, "stderr", stderr.String(), "request "+id+" keeps running", "treadle stop "+id)
	for _, c := range f.calls {
		if strings.Contains(c, "/stop") {
			t.Error("the request was stopped")
		}
	}
}

// watchWriter calls then once it was given a text.
type watchWriter struct {
	bytes.Buffer
	text string
	then func()
}

func (w *watchWriter) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	if strings.Contains(w.String(), w.text) {
		w.then()
	}
	return n, err
}

func TestWaitOutlivesALostConnection(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	// Every stream ends after one event; the request ends with the third.
	f.script = [][]string{{requestJSON(2, 1, "")}, {requestJSON(2, 2, "")}, {requestJSON(3, 3, "")}}
	r := f.treadle(t, "watch", id)
	if r.code != 0 {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	has(t, "stdout", r.stdout, "RUNNING 2/3 jobs", "COMPLETE")
}

func TestStartNamesAHost(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if r := f.treadle(t, "start", "hello", "--host", "db1"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	if got := f.created[0]["host"]; got != "db1" {
		t.Errorf("the host is %v", got)
	}
}
