package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
	"github.com/treadle-run/treadle/test/mariadb"
)

// ticking has jobs that leave a mark outside Treadle as long as they run.
//
//	ticking: before --> [ tick, tick, tick ] --> after
const ticking = `
sequences:
  ticking:
    request: true
    args:
      required: [{name: gate_dir}]
      optional: [{name: items, type: list, default: [1, 2, 3]}]
    nodes:
      before: {category: job, type: noop}
      each:
        category: sequence
        type: tick
        each: ["items:item"]
        deps: [before]
        args: [{expected: gate_dir}]
      after: {category: job, type: noop, deps: [each]}
  tick:
    args:
      required: [{name: gate_dir}, {name: item}]
    nodes:
      tick:
        category: job
        type: shell
        args:
          - expected: gate_dir
          - expected: item
          - expected: script
            value: |
              trap 'echo stopped >> "$gate_dir/stopped"; exit 1' TERM
              while [ ! -e "$gate_dir/open" ] && [ ! -e "$gate_dir/open$item" ]; do
                echo x >> "$gate_dir/ticks"
                sleep 0.1
              done
              echo "$TREADLE_REQUEST_ID $TREADLE_JOB_ID" >> "$gate_dir/passed"
`

// ticks counts how often the jobs have left their mark.
func ticks(t *testing.T, gate string) int { return linesOf(t, filepath.Join(gate, "ticks")) }

func linesOf(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

func waitTicks(t *testing.T, gate string) {
	t.Helper()
	from := ticks(t, gate)
	e2e.Eventually(t, patience, "jobs go on", func() bool { return ticks(t, gate) >= from+20 })
}

// openItem lets the jobs with that item pass the gate.
func openItem(t *testing.T, gate string, item int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(gate, "open"+strconv.Itoa(item)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantAway fails the test unless users are told that the database is away: what
// they ask for, load balancers, and who looks whether the process lives.
func wantAway(t *testing.T, e *e2e.Env, gate string) {
	t.Helper()
	// An answer of /readyz holds for a second.
	e2e.Eventually(t, patience, "the manager is not ready", func() bool {
		return e.Do(http.MethodGet, "/readyz", nil).Status == http.StatusServiceUnavailable
	})
	for _, call := range []struct {
		method, path string
		body         any
		want         int
	}{
		{http.MethodGet, "/readyz", nil, http.StatusServiceUnavailable},
		{http.MethodGet, "/healthz", nil, http.StatusOK},
		{http.MethodGet, "/metrics", nil, http.StatusOK},
		{http.MethodGet, "/api/v1/requests", nil, http.StatusServiceUnavailable},
		{http.MethodPost, "/api/v1/requests", object{"type": "ticking", "args": object{"gate_dir": gate}}, http.StatusServiceUnavailable},
	} {
		name, value := e.Operator()
		a := e.Do(call.method, call.path, call.body, name, value)
		if a.Status != call.want {
			t.Errorf("%s %s: %d %s, want %d", call.method, call.path, a.Status, a.Body, call.want)
		}
		if a.Status == http.StatusServiceUnavailable {
			if s, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || s < 1 {
				t.Errorf("%s %s: Retry-After %q", call.method, call.path, a.Header.Get("Retry-After"))
			}
			var body proto.ErrorBody
			if err := a.Into(&body); err != nil || body.HTTPStatus != a.Status || !strings.Contains(body.Message, "database") {
				t.Errorf("%s %s: %s", call.method, call.path, a.Body)
			}
		}
	}
}

// startTicking starts a manager and a runner, and requests whose jobs run.
func startTicking(t *testing.T, e *e2e.Env, env ...string) (jr *e2e.Process, gate string, ids []string) {
	t.Helper()
	e.Spec("ticking", ticking)
	e.StartRM(env...)
	jr = e.StartJR()
	gate = t.TempDir()
	for range 5 {
		ids = append(ids, e.Submit("ticking", object{"gate_dir": gate}))
	}
	waitTicking(t, e, ids)
	return jr, gate, ids
}

func waitTicking(t *testing.T, e *e2e.Env, ids []string) {
	t.Helper()
	e2e.Eventually(t, patience, "all jobs run", func() bool { return len(e.Running("").Jobs) == 3*len(ids) })
}

func ownMariaDB(t *testing.T) (*e2e.Env, *mariadb.Server) {
	t.Helper()
	if os.Getenv("TREADLE_TEST_MARIADB") != "on" {
		t.Skip("TREADLE_TEST_MARIADB is not on") // said by TestMain, too
	}
	return e2e.NewEnvOnOwnMariaDB(t)
}

// The database is killed for less than a lease: jobs notice nothing, what ends
// meanwhile is stored afterwards, and users are told to try again.
func TestDatabaseIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	e, server := ownMariaDB(t)
	_, gate, ids := startTicking(t, e)

	server.Kill9()
	down := time.NewTimer(3 * time.Second)
	wantAway(t, e, gate)
	openItem(t, gate, 1) // these jobs end while nothing can be stored
	passed := filepath.Join(gate, "passed")
	e2e.Eventually(t, patience, "some jobs end", func() bool { return linesOf(t, passed) == len(ids) })
	waitTicks(t, gate) // the others go on
	<-down.C
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		e.WaitLogged(id, "tick", proto.StateComplete, 1, patience)
		if r := e.Request(id); r.State != proto.StateRunning {
			t.Errorf("%s is %s, want RUNNING", id, r.State)
		}
	}
	open(t, gate)
	waitDone(t, e, ids)
	for _, id := range ids {
		for _, l := range checkOnceEach(t, e, id) {
			if l.Epoch != 1 || l.State != proto.StateComplete {
				t.Errorf("%s: %s is %s under epoch %d: it was interrupted", id, l.JobID, l.State, l.Epoch)
			}
		}
	}
	checkPassedOnce(t, gate, 3*len(ids))
	e.Check()
}

// The database is away for longer than the lease: the runner stops its jobs, keeps
// their chains, and hands them in when it can; then they go on. No job that
// completed runs again.
func TestDatabaseIsAwayForLongerThanTheLease(t *testing.T) {
	t.Parallel()
	e, server := ownMariaDB(t)
	jr, gate, ids := startTicking(t, e, "TREADLE_LEASE=5s")

	server.Kill9()
	killed := time.Now()
	openItem(t, gate, 1)
	e2e.Eventually(t, patience, "some jobs end", func() bool { return linesOf(t, filepath.Join(gate, "passed")) == len(ids) })
	e2e.Eventually(t, patience, "the others are stopped", func() bool { return linesOf(t, filepath.Join(gate, "stopped")) == 2*len(ids) })
	if after := time.Since(killed); after < 2*time.Second {
		t.Errorf("jobs were stopped %s after the database was gone: the lease is 5s, of which a heartbeat takes 2s at most", after)
	}
	e2e.Eventually(t, patience, "the runner says why", func() bool { return strings.Contains(jr.Output(), "the lease expired") })
	wantAway(t, e, gate)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	open(t, gate)
	waitDone(t, e, ids)
	for _, id := range ids {
		stopped := 0
		for _, l := range checkOnceEach(t, e, id) {
			switch {
			case l.State == proto.StateStopped && l.Epoch == 1:
				stopped++
			case l.State != proto.StateComplete:
				t.Errorf("%s: try %d of %s is %s under epoch %d", id, l.Try, l.JobID, l.State, l.Epoch)
			}
		}
		if r := e.Request(id); stopped != 2 || r.Epoch < 2 {
			t.Errorf("%s: %d tries were stopped under epoch 1, want 2; it ended under epoch %d", id, stopped, r.Epoch)
		}
	}
	checkPassedOnce(t, gate, 3*len(ids))
	e.Check()
}

// A database that stands still is away, too: nobody waits for it for long.
func TestDatabaseStandsStill(t *testing.T) {
	t.Parallel()
	e, server := ownMariaDB(t)
	_, gate, ids := startTicking(t, e)
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	e2e.Eventually(t, patience, "/readyz is red", func() bool {
		return e.Do(http.MethodGet, "/readyz", nil).Status == http.StatusServiceUnavailable
	})
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("/readyz was red after %s, want some seconds", took)
	}
	if a := e.Do(http.MethodGet, "/healthz", nil); a.Status != http.StatusOK {
		t.Errorf("/healthz: %d", a.Status)
	}
	waitTicks(t, gate)
	if err := server.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	open(t, gate)
	waitDone(t, e, ids)
	for _, id := range ids {
		checkOnceEach(t, e, id)
	}
	checkPassedOnce(t, gate, 3*len(ids))
	e.Check()
}

// The disk of an embedded database is full: nothing is accepted, and users are told
// why. What runs goes on, and all of it is stored when there is room again.
func TestDiskOfSQLiteIsFull(t *testing.T) {
	t.Parallel()
	e := e2e.NewEnv(t, "SQLite")
	e.Spec("ticking", ticking)
	_, disk := e.StartRMOnSmallDisk(8 << 20)
	e.StartJR()
	gate := t.TempDir()
	var ids []string
	for range 5 {
		ids = append(ids, e.Submit("ticking", object{"gate_dir": gate}))
	}
	waitTicking(t, e, ids)

	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	var a e2e.Answer
	e2e.Eventually(t, patience, "nothing more is accepted", func() bool {
		// What is in the database file and in its log may be written over for a while.
		fill(t, filler)
		a = e.Do(http.MethodPost, "/api/v1/requests", object{"type": "ticking", "args": object{"gate_dir": gate}})
		if a.Status == http.StatusCreated {
			var r proto.Request
			if err := a.Into(&r); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, r.ID)
		}
		return a.Status != http.StatusCreated
	})
	if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.Contains(string(a.Body), "the disk of the database is full") {
		t.Errorf("answered %d, Retry-After %q: %s", a.Status, a.Header.Get("Retry-After"), a.Body)
	}
	for _, path := range []string{"/healthz", "/api/v1/requests", "/api/v1/requests/" + ids[0]} {
		if a := e.Do(http.MethodGet, path, nil); a.Status != http.StatusOK {
			t.Errorf("GET %s: %d %s", path, a.Status, a.Body)
		}
	}
	e2e.Eventually(t, patience, "the manager is not ready", func() bool {
		fill(t, filler)
		a = e.Do(http.MethodGet, "/readyz", nil)
		return a.Status != http.StatusOK
	})
	if a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "the disk of the database is full") {
		t.Errorf("/readyz: %d %s", a.Status, a.Body)
	}
	waitTicks(t, gate)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, patience, "the manager is ready", func() bool { return e.Do(http.MethodGet, "/readyz", nil).Status == http.StatusOK })
	e2e.Eventually(t, patience, "requests are accepted", func() bool {
		a = e.Do(http.MethodPost, "/api/v1/requests", object{"type": "ticking", "args": object{"gate_dir": gate}})
		return a.Status == http.StatusCreated
	})
	open(t, gate)
	waitDone(t, e, ids)
	for _, id := range ids {
		checkOnceEach(t, e, id)
	}
}

// fill writes to the end of a file until there is no more room.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if err := f.Close(); err != nil {
		t.Fatal(fmt.Errorf("filling the disk: %w", err))
	}
}
