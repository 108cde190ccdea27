package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// try is a line of a sample's comment that says how to start it.
type try struct {
	file, request, command string
}

var tryLine = regexp.MustCompile(`(?m)^# try: (treadle start ([a-z-]+).*)$`)

// tries returns what the samples in specs/ say about how to start them.
func tries(t *testing.T) []try {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(e2e.RepoDir(), "specs", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []try
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := tryLine.FindAllSubmatch(b, -1)
		if len(lines) == 0 {
			t.Errorf("%s does not say how to try it: # try: treadle start ...", f)
		}
		for _, l := range lines {
			all = append(all, try{file: filepath.Base(f), request: string(l[2]), command: string(l[1])})
		}
	}
	return all
}

// expected is what the log of a request must show beside its end: text in the
// output of a job, and how many tries of a job failed or completed.
var expected = map[string]struct {
	output           []string
	failed, complete map[string]int
}{
	"hello": {
		output: []string{"Hello, Ada.", "The greeting has 11 characters.", "Goodbye, Ada. This was try 1"},
	},
	"deploy": {
		output:   []string{"a runs shop 1.0.0", "c runs shop 1.0.0", "canary runs shop 1.0.0"},
		complete: map[string]int{"install": 4, "check": 4},
	},
	"drain-host": {
		output: []string{"db7 is empty"},
	},
	"backup-check": {
		output:   []string{"the other side does not answer", "restored and compared"},
		failed:   map[string]int{"copy-away": 1},
		complete: map[string]int{"copy-away": 1, "restore": 1},
	},
	"import-feed": {
		output:   []string{"loaded 1200 lines of prices"},
		failed:   map[string]int{"check": 1},
		complete: map[string]int{"fetch": 2, "load": 2, "check": 1, "announce": 1},
	},
	"fan-out": {
		output: []string{"all racks of eu are checked"},
	},
	"order-vm": {
		output: []string{"memory for a token of 12 characters", "created web-", "with a disk share of 0.5"},
	},
	"check-feed": {
		output: []string{"checked adx"},
	},
	"count-feeds": {
		output: []string{"counted the feeds, given {}"},
	},
	"hourly-report": {
		output: []string{"revenue     360", "visits      16", "conversion  50 %", `pages       ["start","cart"]`},
	},
}

// Every sample runs to its end, started as its own comment says.
func TestSamples(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.SpecsDir = filepath.Join(e2e.RepoDir(), "specs")
		e.StartRM()
		e.StartJR()
		for _, try := range tries(t) {
			t.Run(try.command, func(t *testing.T) {
				t.Parallel()
				trySample(t, e, try)
			})
		}
	})
}

func trySample(t *testing.T, e *e2e.Env, try try) {
	id := startByShell(t, e, try.command)
	r := e.WaitState(id, proto.StateComplete, time.Minute)
	if r.Type != try.request || r.FinishedJobs != r.TotalJobs || r.FinishedAt == nil {
		t.Errorf("request is %+v", r)
	}
	entries := e.Log(id)
	text := e.LogText(id)
	want, ok := expected[try.request]
	if !ok {
		t.Errorf("nothing is expected of %s: add it to the table", try.request)
	}
	for _, s := range want.output {
		if !strings.Contains(text, s) {
			t.Errorf("no %q in the log:\n%s", s, text)
		}
	}
	for name, n := range want.failed {
		if got := e2e.Count(entries, name, proto.StateFail); got != n {
			t.Errorf("%d tries of %s failed, want %d", got, name, n)
		}
	}
	for name, n := range want.complete {
		if got := e2e.Count(entries, name, proto.StateComplete); got != n {
			t.Errorf("%d tries of %s completed, want %d", got, name, n)
		}
	}
	if took := r.FinishedAt.Sub(r.CreatedAt); took > 20*time.Second {
		t.Logf("%s took %s", try.request, took)
	}
}

var requestID = regexp.MustCompile(`\b[0-9a-v]{20}\b`)

// startByShell runs a command line that starts a request, as somebody who has
// copied it from a page, and returns the id of the request.
func startByShell(t *testing.T, e *e2e.Env, command string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Env = append(os.Environ(),
		fmt.Sprintf("PATH=%s:%s", filepath.Dir(e2e.Binary(t)), os.Getenv("PATH")),
		"TREADLE_ADDR="+e.URL(), "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	id := requestID.Find(out)
	if id == nil {
		t.Fatalf("%s says no request id: %s", command, out)
	}
	return string(id)
}

// The secret of a sample is nowhere to be seen: not in the request, its chain, its
// log or what the services say.
func TestSecretArgStaysSecret(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.SpecsDir = filepath.Join(e2e.RepoDir(), "specs")
		rm, jr := e.StartRM(), e.StartJR()
		id := e.Submit("order-vm", map[string]any{"name": "web-1", "owner_token": "s3cr3t-t0ken"})
		e.WaitState(id, proto.StateComplete, time.Minute)
		for _, path := range []string{"", "/job-chain", "/log"} {
			if a := e.Do("GET", "/api/v1/requests/"+id+path, nil); strings.Contains(string(a.Body), "s3cr3t") {
				t.Errorf("GET %s shows the secret: %s", path, a.Body)
			}
		}
		for _, p := range []*e2e.Process{rm, jr} {
			if strings.Contains(p.Output(), "s3cr3t") {
				t.Errorf("%s logs the secret", p.Name)
			}
		}
		bad := e.Do("POST", "/api/v1/requests", map[string]any{"Type": "order-vm", "Args": map[string]any{
			"name": "no good", "owner_token": "s3cr3t-t0ken", "size": "huge", "cpus": "many"}})
		if bad.Status != 400 {
			t.Fatalf("bad args: %d %s", bad.Status, bad.Body)
		}
		for _, arg := range []string{"name", "size", "cpus"} {
			if !strings.Contains(string(bad.Body), arg) {
				t.Errorf("the error does not name %s: %s", arg, bad.Body)
			}
		}
	})
}
