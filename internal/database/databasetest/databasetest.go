// Package databasetest has tests run on every database there is, and has faults of
// databases for them. Only tests import it.
package databasetest

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

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/test/galera"
	"github.com/treadle-run/treadle/test/mariadb"
)

var must = testkit.Must

// A suite runs on SQLite always, on a MariaDB of its own with
// TREADLE_TEST_MARIADB=on, on one node of a Galera cluster of its own with
// TREADLE_TEST_GALERA=on (then a missing server is a failure), and on any other
// server whose DSN, without a database, is in TREADLE_TEST_MYSQL_DSN.
var (
	Server  *mariadb.Server
	Cluster *galera.Cluster
)

// The environment that says which databases a suite runs on.
const (
	MariaDBEnv = "TREADLE_TEST_MARIADB"
	GaleraEnv  = "TREADLE_TEST_GALERA"
	mysqlEnv   = "TREADLE_TEST_MYSQL_DSN"
)

// Main runs a suite on every database there is, and looks for goroutines left behind.
func Main(m *testing.M) {
	if os.Getenv(GaleraEnv) == "on" {
		var err error
		if Cluster, err = galera.Start(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if os.Getenv(MariaDBEnv) == "on" {
		var err error
		if Server, err = mariadb.Start(context.Background(), mariadb.Options{BufferPool: 256}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	} else {
		fmt.Println("suite: on SQLite only; with " + MariaDBEnv + "=on it also runs on MariaDB")
	}
	// A migration that another node was quicker with leaves a reader behind in
	// golang-migrate.
	readers := goleak.IgnoreAnyFunction("github.com/golang-migrate/migrate/v4.(*Migrate).readUp.func1")
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), readers, goleak.Cleanup(func(code int) {
		if Server != nil {
			Server.Stop()
		}
		if Cluster != nil {
			Cluster.Stop()
		}
		os.Exit(code)
	}))
}

// Clock is a clock that moves only when told to.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows a time with a part of each unit.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 3, 4, 5, 6, 7, 891_234_000, time.UTC)}
}

// Now is the time that it shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add moves it on.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// EachConfig runs a test with a new, empty database of every kind.
func EachConfig(t *testing.T, test func(t *testing.T, cfg database.Config)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, database.Config{SQLitePath: filepath.Join(t.TempDir(), "treadle.db")})
	})
	// Asked here, too: go test caches results by what tests ask for, not by what
	// TestMain does.
	for _, db := range []struct {
		name string
		on   bool
		make func(t *testing.T) (dsn string, err error)
	}{
		{"mariadb", os.Getenv(MariaDBEnv) == "on", func(t *testing.T) (string, error) { return Server.NewDatabase(t.Context()) }},
		{"galera", os.Getenv(GaleraEnv) == "on", func(t *testing.T) (string, error) { return ClusterDSN(t, 0), nil }},
		{"mysql", os.Getenv(mysqlEnv) != "", newMySQLDatabase},
	} {
		if !db.on {
			continue
		}
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			dsn, err := db.make(t)
			must(t, err)
			test(t, database.Config{MySQLDSN: dsn, MaxOpenConns: 16})
		})
	}
}

// ClusterDSN makes a database in the Cluster and returns its DSN on a node.
func ClusterDSN(t *testing.T, node int) string {
	t.Helper()
	name, err := Cluster.NewDatabase(t.Context())
	must(t, err)
	return Cluster.Node(node).DSN(name)
}

// newMySQLDatabase makes a database on the Server that was named, until the test ends.
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
	cfg.DBName = "treadle_" + xid.New().String()
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+cfg.DBName+" CHARACTER SET utf8mb4"); err != nil {
		return "", err
	}
	t.Cleanup(func() {
		_, err := db.ExecContext(context.Background(), "DROP DATABASE "+cfg.DBName)
		must(t, err)
	})
	return cfg.FormatDSN(), nil
}

// Open opens and migrates a database, and closes it with the test.
func Open(t testing.TB, cfg database.Config) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// BenchConfig is a database for a benchmark: MariaDB where it is there, else SQLite.
func BenchConfig(b *testing.B) database.Config {
	b.Helper()
	if os.Getenv(MariaDBEnv) != "on" {
		return database.Config{SQLitePath: b.TempDir() + "/treadle.db"}
	}
	dsn, err := Server.NewDatabase(b.Context())
	must(b, err)
	return database.Config{MySQLDSN: dsn}
}
