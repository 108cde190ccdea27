package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// `make run` builds, serves, shows a request run to COMPLETE, says what to try
// next, and goes on until Ctrl-C; the next one goes on with the same data.
func TestMakeRun(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	e := e2e.NewEnv(t, "SQLite")
	data := filepath.Join(e.Dir, "data")
	var first string
	for _, run := range []string{"first", "second"} {
		p := startMake(t, e, data)
		var id string
		e2e.Eventually(t, 3*time.Minute, run+" run: what to try next", func() bool {
			if p.Ended() {
				t.Fatalf("%s run ended:\n%s", run, p.Output())
			}
			return strings.Contains(p.Output(), "Ctrl-C ends")
		})
		out := p.Output()
		if id = requestID.FindString(out); id == "" || !strings.Contains(out, "COMPLETE") || !strings.Contains(out, "curl -s") {
			t.Errorf("%s run says:\n%s", run, out)
		}
		if r := e.Request(id); r.Type != "hello" || r.State != proto.StateComplete {
			t.Errorf("%s run: the request it started is %+v", run, r)
		}
		if run == "first" {
			first = id
			testBusyPort(t, e)
		} else if r := e.Request(first); r.State != proto.StateComplete {
			t.Errorf("the request of the first run is %+v in the second", r)
		}
		p.Signal(syscall.SIGINT)
		p.Wait(time.Minute) // the exit code is make's own, which says that it was interrupted
	}
}

// startMake runs `make run` with an address and data of the test's own. The
// signal goes to make's whole group, as Ctrl-C on a terminal does.
func startMake(t *testing.T, e *e2e.Env, data string) *e2e.Process {
	t.Helper()
	addr := e.Reserve()
	cmd := exec.Command("make", "--no-print-directory", "run", "LISTEN="+addr, "DATA="+data)
	cmd.Dir = e2e.RepoDir()
	return e.StartCommand(cmd, addr)
}

// testBusyPort starts a second one at the address of the one that runs.
func testBusyPort(t *testing.T, e *e2e.Env) {
	t.Helper()
	addr := strings.TrimPrefix(e.URL(), "http://")
	_, errs, exit := e.Run("dev", "--listen", addr, "--data", t.TempDir(), "--specs", "specs")
	if exit == 0 || !strings.Contains(errs, addr) || !strings.Contains(errs, "in use") || !strings.Contains(errs, "--listen") {
		t.Errorf("busy port: exit code %d, says %q", exit, errs)
	}
}

// Without make: the same program, and Ctrl-C is a good end.
func TestDev(t *testing.T) {
	t.Parallel()
	e := e2e.NewEnv(t, "SQLite")
	e.Spec("quick", quick)
	addr := e.Reserve()
	p := e.StartCommand(exec.Command(e2e.Binary(t), "dev", "--listen", addr, "--data", filepath.Join(e.Dir, "data"), "--specs", e.SpecsDir), addr)
	p.WaitReady()
	e.WaitState(e.Submit("quick", nil), proto.StateComplete, 20*time.Second)
	p.Signal(syscall.SIGINT)
	if exit := p.Wait(time.Minute); exit != 0 {
		t.Errorf("ended with %d:\n%s", exit, p.Output())
	}
}

// Signals: the first lets everything end in order, with exit code 0.
func TestServicesEndOnSIGTERM(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("quick", quick)
		rm, jr := e.StartRM(), e.StartJR()
		e.WaitState(e.Submit("quick", nil), proto.StateComplete, 20*time.Second)
		for _, p := range []*e2e.Process{jr, rm} {
			if exit := p.Term(); exit != 0 {
				t.Errorf("%s ended with %d", p.Name, exit)
			}
		}
	})
}

// A Request Manager with specs that do not pass the checks says what is wrong
// where, and does not start.
func TestBadSpecsDoNotStart(t *testing.T) {
	t.Parallel()
	e := e2e.NewEnv(t, "SQLite")
	e.Spec("bad", "sequences:\n  bad:\n    request: true\n    nodes:\n      only:\n        category: job\n        type: no-such-type\n")
	config := filepath.Join(e.Dir, "rm.yaml")
	text := "server:\n  addr: " + e.Reserve() + "\nsqlite:\n  path: " + filepath.Join(e.Dir, "x.db") + "\nspecs:\n  dir: " + e.SpecsDir + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, exit := e.Run("request-manager", "--config", config)
	if exit == 0 || !strings.Contains(errs, "bad.yaml:") || !strings.Contains(errs, "no-such-type") {
		t.Errorf("exit code %d, says %q", exit, errs)
	}
}
