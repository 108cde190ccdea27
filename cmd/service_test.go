package cmd

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/job/builtin"
)

func TestServicesRefuseBadConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	writeFile(t, file, "server:\n  adr: x\n")
	for _, tt := range []struct {
		args string
		env  map[string]string
		want string
	}{
		{"request-manager --config " + file, nil, file + `:2: unknown key "server.adr", did you mean "server.addr"?`},
		{"job-runner", map[string]string{"TREADLE_CONFIG": file}, file + `:2: unknown key "server.adr"`},
		{"request-manager", nil, "no database: set mysql.dsn, or sqlite.path for an embedded one"},
		{"request-manager", map[string]string{"TREADLE_MYSQL_DSN": "u:hunter2@x"}, "mysql.dsn: expected user:password@tcp(host:port)/database"},
		{"job-runner", map[string]string{"TREADLE_SHUTDOWN_TIMEOUT": "soon"}, "environment variable TREADLE_SHUTDOWN_TIMEOUT: "},
		{"job-runner", map[string]string{"TREADLE_SERVER_ADDR": "0.0.0.0:0"}, "set cluster.secret"},
		{"migrate up", nil, "no database"},
		{"job-runner", map[string]string{"TREADLE_LIMIT_DATA": "5"}, "unknown environment variable TREADLE_LIMIT_DATA, did you mean TREADLE_LIMITS_DATA?"},
		{"lint", map[string]string{"TREADLE_SPEC_DIR": "specs"}, "unknown environment variable TREADLE_SPEC_DIR, did you mean TREADLE_SPECS_DIR?"},
		{"request-manager x", nil, "too many arguments"},
	} {
		r := (&fake{}).treadleWith(t.Context(), tt.env, "", strings.Fields(tt.args)...)
		if r.code != 2 {
			t.Errorf("%s: exit code %d, want 2", tt.args, r.code)
		}
		has(t, tt.args, r.stderr, "treadle: ", tt.want)
		if strings.Contains(r.stderr, "hunter2") {
			t.Errorf("the error has the password: %s", r.stderr)
		}
	}
}

// Both services may share an environment, and a job may run treadle.
func TestVariablesOfOthersAreNoErrors(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"TREADLE_SQLITE_PATH": filepath.Join(t.TempDir(), "t.db"), "TREADLE_CAPACITY": "3", "TREADLE_ADDR": "http://127.0.0.1:1",
		"TREADLE_REQUEST_ID": id, "TREADLE_OUTPUT": "/tmp/x", "TREADLE_TEST_MARIADB": "on",
	}
	if r := (&fake{}).treadleWith(t.Context(), env, "", "migrate", "up"); r.code != 0 {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	env := map[string]string{"TREADLE_SQLITE_PATH": filepath.Join(t.TempDir(), "t.db")}
	migrate := func(step string) result { return (&fake{}).treadleWith(t.Context(), env, "", "migrate", step) }
	if r := migrate("status"); r.code != 1 || !strings.Contains(r.stdout, "out of date") {
		t.Errorf("a new database: exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	for _, step := range []string{"up", "up", "status"} {
		if r := migrate(step); r.code != 0 || !strings.Contains(r.stdout, "up to date") {
			t.Errorf("migrate %s: exit code %d: %s%s", step, r.code, r.stdout, r.stderr)
		}
	}
	db, err := sql.Open("sqlite", env["TREADLE_SQLITE_PATH"])
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE schema_migrations SET version = 9000"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"up", "status"} {
		if r := migrate(step); r.code != 0 || !strings.Contains(r.stdout, "warning: a newer treadle migrated the database") {
			t.Errorf("migrate %s of a newer schema: exit code %d: %s%s", step, r.code, r.stdout, r.stderr)
		}
	}
}

// lines is a writer that tells when it was given a text.
type lines struct {
	mu    sync.Mutex
	text  bytes.Buffer
	await string
	found chan struct{}
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.text.Write(b)
	if l.await != "" && strings.Contains(l.text.String(), l.await) {
		l.await = ""
		close(l.found)
	}
	return n, err
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// freeAddr is a loopback address that was free a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func TestDevRunsARequestAndGoesOnWithTheSameData(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	for run := range 2 {
		addr := freeAddr(t)
		ctx, cancel := context.WithCancel(t.Context())
		stdout, stderr := &bytes.Buffer{}, &lines{await: "Try next", found: make(chan struct{})}
		p := &program{stdin: strings.NewReader(""), out: &term.Out{Stdout: stdout, Stderr: stderr, Now: now}, registry: builtin.Registry(),
			env: verb.Environment{}}
		code := make(chan int, 1)
		go func() {
			code <- p.run(ctx, []string{"dev", "--listen", addr, "--data", data, "--specs", "../specs", "--demo", "hello"})
		}()
		select {
		case <-stderr.found:
		case c := <-code:
			t.Fatalf("ended with %d: %s", c, stderr)
		}
		env := map[string]string{"TREADLE_ADDR": "http://" + addr}
		find := (&fake{}).treadleWith(t.Context(), env, "", "find", "--type", "hello", "--state", "COMPLETE")
		if got := strings.Count(find.stdout, "5/5"); got != run+1 {
			t.Errorf("run %d: %d requests are COMPLETE, want %d:\n%s%s", run, got, run+1, find.stdout, find.stderr)
		}
		busy := (&fake{}).treadleWith(t.Context(), nil, "", "dev", "--listen", addr, "--data", data)
		if busy.code != 1 {
			t.Errorf("a busy port: exit code %d", busy.code)
		}
		has(t, "a busy port", busy.stderr, "treadle: "+addr+" is in use", "--listen")
		twice := (&fake{}).treadleWith(t.Context(), nil, "", "dev", "--listen", freeAddr(t), "--data", data, "--specs", "../specs")
		if twice.code != 1 {
			t.Errorf("a second one on the same data: exit code %d", twice.code)
		}
		has(t, "a second one on the same data", twice.stderr, fmt.Sprintf("treadle: %s is in use by another Request Manager (pid %d)", filepath.Join(data, "treadle.db"), os.Getpid()))
		cancel()
		if c := <-code; c != 0 {
			t.Errorf("ended with %d: %s", c, stderr)
		}
		has(t, "stdout", stdout.String(), "COMPLETE after", "Goodbye, world.")
		has(t, "stderr", stderr.String(), "listens at http://"+addr, "curl -s -X POST http://"+addr+"/api/v1/requests")
	}
}

// What a user would do next with the request, they cannot do without this process.
func TestCtrlCInTheDemoPromisesNothing(t *testing.T) {
	t.Parallel()
	specs := t.TempDir()
	writeFile(t, filepath.Join(specs, "long.yaml"),
		"sequences: {long: {request: true, nodes: {a: {category: job, type: sleep, args: [{expected: duration, value: 1h}]}}}}\n")
	ctx, cancel := context.WithCancel(t.Context())
	said := &lines{await: "RUNNING", found: make(chan struct{})}
	p := &program{stdin: strings.NewReader(""), out: &term.Out{Stdout: said, Stderr: said, Now: now}, registry: builtin.Registry(),
		env: verb.Environment{}}
	code := make(chan int, 1)
	go func() {
		code <- p.run(ctx, []string{"dev", "--listen", freeAddr(t), "--data", filepath.Join(t.TempDir(), "data"), "--specs", specs, "--demo", "long"})
	}()
	select {
	case <-said.found:
	case c := <-code:
		t.Fatalf("ended with %d: %s", c, said)
	}
	cancel()
	if c := <-code; c != 0 {
		t.Errorf("ended with %d: %s", c, said)
	}
	for _, never := range []string{"keeps running", "treadle watch", "demo failed"} {
		if strings.Contains(said.String(), never) {
			t.Errorf("Ctrl-C says %q: %s", never, said)
		}
	}
}

func TestDevNeedsSpecs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := (&fake{}).treadleWith(t.Context(), nil, "", "dev", "--listen", freeAddr(t), "--data", filepath.Join(dir, "data"), "--specs", filepath.Join(dir, "none"))
	if r.code != 2 {
		t.Errorf("exit code %d", r.code)
	}
	has(t, "stderr", r.stderr, "--specs: there is no directory")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t.db")
	env := map[string]string{"TREADLE_SQLITE_PATH": path}
	treadle := func(args ...string) result { return (&fake{}).treadleWith(t.Context(), env, "", args...) }
	if r := treadle("check"); r.code != 3 || !strings.Contains(r.stderr, "no such file") {
		t.Errorf("no database: exit code %d: %s", r.code, r.stderr)
	}
	if r := treadle("check", "--since", "0s"); r.code != 2 {
		t.Errorf("since 0: exit code %d: %s", r.code, r.stderr)
	}
	if r := treadle("migrate", "up"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	if r := treadle("check"); r.code != 0 || !strings.Contains(r.stdout, "no findings") {
		t.Errorf("right: exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `INSERT INTO requests (request_id, type, user, state, epoch, created_at,
		finished_at, updated_at, total_jobs, finished_jobs, reason, args) VALUES ('dc68', 't', 'u', 4, 0, 1, 1000000, 1, 1, 2, '', '')`)
	if err != nil {
		t.Fatal(err)
	}
	if r := treadle("check"); r.code != 0 {
		t.Errorf("it ended long ago: exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if r := treadle("check", "--all"); r.code != 1 {
		t.Errorf("wrong: exit code %d: %s%s", r.code, r.stdout, r.stderr)
	} else {
		has(t, "check", r.stdout, "finished-jobs", "dc68", "2 of 1 jobs have finished")
	}
	r := treadle("check", "--all", "--output", "json")
	var res struct {
		Requests int
		Findings []struct{ Check, RequestID string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &res); err != nil || r.code != 1 || res.Requests != 1 ||
		len(res.Findings) != 1 || res.Findings[0].Check != "finished-jobs" {
		t.Errorf("exit code %d, %v: %s", r.code, err, r.stdout)
	}
}
