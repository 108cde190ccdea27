package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treadle-run/treadle/test/programs"
)

// Env is what one test has for itself: a database, a directory of specs, and the
// processes that it starts. They all end with the test.
type Env struct {
	t testing.TB
	// Database is "SQLite", "MariaDB" or "MySQL".
	Database string
	// SpecsDir is where Request Managers read specs from. Change it, or what is in
	// it, before StartRM.
	SpecsDir string
	// Dir is the test's own, for whatever it likes.
	Dir string
	// Package is the program that services are started from; by default the one
	// that users have.
	Package string

	database []string // of the environment: where the database is, and its key
	rmURL    string   // of the first Request Manager; kept when it is started again

	mu        sync.Mutex
	processes []*Process
}

// ForEachDB runs f as a parallel subtest on SQLite, on MariaDB if
// TREADLE_TEST_MARIADB is on, and on the server whose DSN, without a database, is in
// TREADLE_TEST_MYSQL_DSN.
func ForEachDB(t *testing.T, f func(t *testing.T, e *Env)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		f(t, NewEnv(t, "SQLite"))
	})
	if mariaDBOn() {
		t.Run("MariaDB", func(t *testing.T) {
			t.Parallel()
			f(t, NewEnv(t, "MariaDB"))
		})
	}
	if os.Getenv(mysqlEnv) != "" {
		t.Run("MySQL", func(t *testing.T) {
			t.Parallel()
			f(t, NewEnv(t, "MySQL"))
		})
	}
}

// NewEnv returns an environment with an empty database ("SQLite", "MariaDB" or
// "MySQL") and no specs.
func NewEnv(t testing.TB, database string) *Env {
	t.Helper()
	switch database {
	case "SQLite":
		return newEnv(t, database, "")
	case "MariaDB":
		return newEnv(t, database, newDatabase(t, MariaDB(t)))
	case "MySQL":
		return newEnv(t, database, newMySQLDatabase(t))
	}
	t.Fatalf("no database %q", database)
	return nil
}

// newEnv is NewEnv on the database with the DSN, or on SQLite if it is "".
func newEnv(t testing.TB, database, dsn string) *Env {
	t.Helper()
	e := &Env{t: t, Database: database, Dir: t.TempDir(), SpecsDir: t.TempDir(), Package: programs.Treadle}
	if dsn == "" {
		e.database = []string{"TREADLE_SQLITE_PATH=" + filepath.Join(e.Dir, "treadle.db")}
	} else {
		e.database = []string{"TREADLE_MYSQL_DSN=" + dsn}
	}
	key := filepath.Join(e.Dir, "secrets.key")
	if err := os.WriteFile(key, []byte(strings.Repeat("k", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	e.database = append(e.database, "TREADLE_SECRETS_KEY_FILE="+key)
	t.Cleanup(e.end)
	return e
}

// Spec writes a file of specs.
func (e *Env) Spec(name, yaml string) {
	e.t.Helper()
	if err := os.WriteFile(filepath.Join(e.SpecsDir, name+".yaml"), []byte(yaml), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

// URL returns the base URL of the first Request Manager.
func (e *Env) URL() string {
	if e.rmURL == "" {
		e.t.Helper()
		e.t.Fatal("no Request Manager was started")
	}
	return e.rmURL
}

// StartRM starts a Request Manager and waits until it is ready. The first one has
// an address that it keeps when it is started again after it has ended; more
// at the same time have others. Extra is environment ("TREADLE_RESUMER_TTL=3s").
func (e *Env) StartRM(extra ...string) *Process {
	e.t.Helper()
	addr := e.Reserve()
	env := append([]string{"TREADLE_SERVER_ADDR=" + addr, "TREADLE_SPECS_DIR=" + e.SpecsDir}, e.database...)
	p := e.startVerb("request-manager", addr, append(env, extra...))
	p.WaitReady()
	return p
}

// Reserve returns the address for a Request Manager that is about to start: that
// of the first one, unless it is running, else a free one. Free addresses are on
// loopback.
func (e *Env) Reserve() string {
	e.t.Helper()
	if e.rmURL == "" {
		e.rmURL = "http://" + freeAddr(e.t)
	}
	if first := strings.TrimPrefix(e.rmURL, "http://"); !e.serves(first) {
		return first
	}
	return freeAddr(e.t)
}

// StartJR starts a Job Runner that reports to the first Request Manager, and
// waits until it serves, not until it has registered. Extra is environment.
func (e *Env) StartJR(extra ...string) *Process {
	e.t.Helper()
	addr := freeAddr(e.t)
	p := e.startVerb("job-runner", addr, append([]string{"TREADLE_SERVER_ADDR=" + addr, "TREADLE_RM_CLIENT_URL=" + e.URL()}, extra...))
	p.waitHTTP("/healthz")
	return p
}

// RestartJR starts a Job Runner at the address of one that has ended.
func (e *Env) RestartJR(old *Process, extra ...string) *Process {
	e.t.Helper()
	p := e.startVerb("job-runner", old.Addr, append([]string{"TREADLE_SERVER_ADDR=" + old.Addr, "TREADLE_RM_CLIENT_URL=" + e.URL()}, extra...))
	p.waitHTTP("/healthz")
	return p
}

// serves reports whether a process that this test started serves there still.
func (e *Env) serves(addr string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.processes {
		if p.Addr == addr && !p.Ended() {
			return true
		}
	}
	return false
}

// end ends all processes, Job Runners first, so that they can hand in what they
// have, and shows what they said if the test has failed.
func (e *Env) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.processes) - 1; i >= 0; i-- {
		e.processes[i].end()
	}
	for _, p := range e.processes {
		if bad := p.complaint(); bad != "" {
			e.t.Errorf("%s said: %s", p.Name, bad)
		}
	}
	if e.t.Failed() {
		for _, p := range e.processes {
			e.t.Logf("---- the last lines of %s ----\n%s", p.Name, p.lastOutput())
		}
	}
}

// ports of a process lie below those that the system gives to connections by
// itself, so that none is taken between the choice and its use.
var ports = struct {
	sync.Mutex
	next int
}{next: 10_000 + os.Getpid()%180*100}

// freeAddr returns an address on loopback that nobody listens at.
func freeAddr(t testing.TB) string {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", ports.next)
		if ports.next++; ports.next >= 32_000 {
			ports.next = 10_000
		}
		if l, err := net.Listen("tcp", addr); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}

// Eventually waits until ok returns true, and fails the test, saying what it
// waited for, if that takes longer than timeout.
func Eventually(t testing.TB, timeout time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			if ok() {
				return
			}
			t.Fatalf("not within %s: %s", timeout, what)
		case <-tick.C:
		}
	}
}
