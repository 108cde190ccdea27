package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/rs/xid"
	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/galera"
	"github.com/treadle-run/treadle/test/mariadb"
)

var must = testkit.Must

// The suite runs on SQLite always, on a MariaDB of its own with
// TREADLE_TEST_MARIADB=on, on one node of a Galera cluster of its own with
// TREADLE_TEST_GALERA=on (then a missing server is a failure), and on any other
// server whose DSN, without a database, is in TREADLE_TEST_MYSQL_DSN.
var (
	server  *mariadb.Server
	cluster *galera.Cluster
)

const (
	mariadbEnv = "TREADLE_TEST_MARIADB"
	galeraEnv  = "TREADLE_TEST_GALERA"
	mysqlEnv   = "TREADLE_TEST_MYSQL_DSN"
)

func TestMain(m *testing.M) {
	if os.Getenv(galeraEnv) == "on" {
		var err error
		if cluster, err = galera.Start(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if os.Getenv(mariadbEnv) == "on" {
		var err error
		if server, err = mariadb.Start(context.Background(), mariadb.Options{BufferPool: 256}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	} else {
		fmt.Println("store suite: on SQLite only; with " + mariadbEnv + "=on it also runs on MariaDB")
	}
	// A migration that another node was quicker with leaves a reader behind in
	// golang-migrate.
	readers := goleak.IgnoreAnyFunction("github.com/golang-migrate/migrate/v4.(*Migrate).readUp.func1")
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), readers, goleak.Cleanup(func(code int) {
		if server != nil {
			server.Stop()
		}
		if cluster != nil {
			cluster.Stop()
		}
		os.Exit(code)
	}))
}

// fixture is a migrated database with a clock that stands still.
type fixture struct {
	*Store
	clock *clock
	cfg   Config
}

// clock is a clock that moves only when told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 891_234_000, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// each runs a test on every database there is.
func each(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	eachConfig(t, func(t *testing.T, cfg Config) {
		c := newClock()
		cfg.Now = c.Now
		test(t, &fixture{Store: openStore(t, cfg), clock: c, cfg: cfg})
	})
}

// eachConfig runs a test with a new, empty database of every kind.
func eachConfig(t *testing.T, test func(t *testing.T, cfg Config)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, Config{SQLitePath: filepath.Join(t.TempDir(), "treadle.db")})
	})
	// Asked here, too: go test caches results by what tests ask for, not by what
	// TestMain does.
	for _, db := range []struct {
		name string
		on   bool
		make func(t *testing.T) (dsn string, err error)
	}{
		{"mariadb", os.Getenv(mariadbEnv) == "on", func(t *testing.T) (string, error) { return server.NewDatabase(t.Context()) }},
		{"galera", os.Getenv(galeraEnv) == "on", func(t *testing.T) (string, error) { return clusterDSN(t, 0), nil }},
		{"mysql", os.Getenv(mysqlEnv) != "", newMySQLDatabase},
	} {
		if !db.on {
			continue
		}
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			dsn, err := db.make(t)
			must(t, err)
			test(t, Config{MySQLDSN: dsn, MaxOpenConns: 16})
		})
	}
}

// clusterDSN makes a database in the cluster and returns its DSN on a node.
func clusterDSN(t *testing.T, node int) string {
	t.Helper()
	name, err := cluster.NewDatabase(t.Context())
	must(t, err)
	return cluster.Node(node).DSN(name)
}

// newMySQLDatabase makes a database on the server that was named, until the test ends.
func newMySQLDatabase(t *testing.T) (string, error) {
	cfg, err := mysql.ParseDSN(os.Getenv(mysqlEnv))
	if err != nil {
		return "", err
	}
	db, err := sql.Open("mysql", cfg.FormatDSN())
	if err != nil {
		return "", err
	}
	t.Cleanup(func() { must(t, db.Close()) })
	cfg.DBName = "treadle_" + newID()
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+cfg.DBName+" CHARACTER SET utf8mb4"); err != nil {
		return "", err
	}
	t.Cleanup(func() {
		_, err := db.ExecContext(context.Background(), "DROP DATABASE "+cfg.DBName)
		must(t, err)
	})
	return cfg.FormatDSN(), nil
}

// openStore opens and migrates a database, and closes it with the test.
func openStore(t *testing.T, cfg Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func newID() string { return xid.New().String() }

// newRequest is a request of three jobs with defaults that tests do not care for.
func newRequest(id string) NewRequest {
	return NewRequest{
		Request: proto.Request{ID: id, Type: "deploy", User: "ann", TotalJobs: 3},
		Chain:   []byte(`{"requestId":"` + id + `"}`),
	}
}

// create makes a request that is PENDING.
func (f *fixture) create(t *testing.T) string {
	t.Helper()
	id := newID()
	must(t, f.CreateRequests(t.Context(), []NewRequest{newRequest(id)}))
	return id
}

// running makes a request that is RUNNING on runner "jr-1" under epoch 1.
func (f *fixture) running(t *testing.T) string {
	t.Helper()
	id := f.create(t)
	taken, err := f.Dispatch(t.Context(), []Handover{{RequestID: id}}, "jr-1", "http://jr-1")
	must(t, err)
	if len(taken) != 1 {
		t.Fatalf("dispatch took %v", taken)
	}
	return id
}

// suspended makes a request that is SUSPENDED under epoch 1.
func (f *fixture) suspended(t *testing.T) string {
	t.Helper()
	id := f.running(t)
	must(t, f.Suspend(t.Context(), id, 1, time.Time{}, []byte(`{"requestId":"`+id+`"}`), false, ""))
	return id
}

// inState makes a request in the state.
func (f *fixture) inState(t *testing.T, state proto.State) string {
	t.Helper()
	switch state {
	case proto.StatePending:
		return f.create(t)
	case proto.StateRunning:
		return f.running(t)
	case proto.StateSuspended:
		return f.suspended(t)
	}
	id := f.running(t)
	f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Final: state})
	return id
}

// report saves a report that must not be refused.
func (f *fixture) report(t *testing.T, items ...proto.ReportItem) {
	t.Helper()
	refused, err := f.SaveReport(t.Context(), items)
	must(t, err)
	if len(refused) > 0 {
		t.Fatalf("refused: %+v", refused)
	}
}

func (f *fixture) request(t *testing.T, id string) proto.Request {
	t.Helper()
	r, err := f.Request(t.Context(), id)
	must(t, err)
	return r
}

// wantState checks what is always so of a request in the state, and the epoch.
func (f *fixture) wantState(t *testing.T, id string, state proto.State, epoch uint64) proto.Request {
	t.Helper()
	r := f.request(t, id)
	if r.State != state || r.Epoch != epoch {
		t.Errorf("request is %s under epoch %d, want %s under %d", r.State, r.Epoch, state, epoch)
	}
	if (r.FinishedAt != nil) != r.State.Final() {
		t.Errorf("%s request has finish time %v", r.State, r.FinishedAt)
	}
	if (r.JobRunnerURL != "") != (r.State == proto.StateRunning) {
		t.Errorf("%s request has runner %q", r.State, r.JobRunnerURL)
	}
	if n := f.count(t, "suspended_job_chains WHERE request_id = ?", id); (n == 1) != (r.State == proto.StateSuspended) {
		t.Errorf("%s request has %d suspended job chains", r.State, n)
	}
	return r
}

func (f *fixture) count(t *testing.T, from string, args ...any) int {
	t.Helper()
	var n int
	must(t, f.write.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+from, args...).Scan(&n))
	return n
}

// entry is a job log entry of a try that went well.
func entry(id string, seq uint64, job string) proto.JobLog {
	return proto.JobLog{
		RequestID: id, Seq: seq, JobID: job, Try: 1, Name: job, Type: "noop", State: proto.StateComplete,
		StartedAt: 1_700_000_000_123_456_789, FinishedAt: 1_700_000_000_223_456_789,
	}
}
