package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql" // also the driver of MariaDB
	"github.com/rs/xid"
	_ "modernc.org/sqlite" // the driver of SQLite

	"github.com/treadle-run/treadle/test/mariadb"
)

// DB opens the database of the test, beside the services that use it. It is for
// what no API shows, such as claims.
func (e *Env) DB() *sql.DB {
	e.t.Helper()
	driver, dsn := "sqlite", filepath.Join(e.Dir, "treadle.db")+"?_pragma=busy_timeout(10000)"
	if e.Database != "SQLite" {
		driver, dsn = "mysql", strings.TrimPrefix(e.database[0], "TREADLE_MYSQL_DSN=")
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() {
		if err := db.Close(); err != nil {
			e.t.Error(err)
		}
	})
	return db
}

// newDatabase returns the DSN of an empty database on the server.
func newDatabase(t testing.TB, s *mariadb.Server) string {
	t.Helper()
	dsn, err := s.NewDatabase(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

const mysqlEnv = "TREADLE_TEST_MYSQL_DSN"

// newMySQLDatabase returns the DSN of an empty database on the server that was named.
// It is there until the test has ended.
func newMySQLDatabase(t testing.TB) string {
	t.Helper()
	cfg, err := mysql.ParseDSN(os.Getenv(mysqlEnv))
	if err != nil {
		t.Fatal(err)
	}
	name := "treadle_" + xid.New().String()
	admin := func(stmt string) {
		t.Helper()
		db, err := sql.Open("mysql", os.Getenv(mysqlEnv))
		if err == nil {
			_, err = db.ExecContext(context.Background(), stmt)
			err = errors.Join(err, db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	admin("CREATE DATABASE " + name + " CHARACTER SET utf8mb4")
	t.Cleanup(func() { admin("DROP DATABASE " + name) })
	cfg.DBName = name
	return cfg.FormatDSN()
}

// NewEnvOnOwnMariaDB returns an environment on a MariaDB server that the test alone
// uses, and may kill.
func NewEnvOnOwnMariaDB(t testing.TB) (*Env, *mariadb.Server) {
	t.Helper()
	s, err := mariadb.Start(context.Background(), mariadb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop) // after the processes of the Env
	return newEnv(t, "MariaDB", newDatabase(t, s)), s
}

// StartRMOnSmallDisk starts a Request Manager on SQLite, on a disk of its own with
// that many bytes. The path is where the test finds the disk. A process that may not
// mount a disk skips the test.
func (e *Env) StartRMOnSmallDisk(bytes int) (rm *Process, path string) {
	e.t.Helper()
	dir := filepath.Join(e.Dir, "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		e.t.Fatal(err)
	}
	// The disk is in a mount namespace of the process, and goes with it.
	unshare := []string{"--mount"}
	if os.Geteuid() != 0 {
		unshare = append(unshare, "--user", "--map-root-user")
	}
	if out, err := exec.Command("unshare", append(unshare, "true")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: no test of a full disk: this process may not mount one: unshare: %v %s\n", err, out)
		e.t.Skip("may not mount a disk")
	}
	addr := e.Reserve()
	script := fmt.Sprintf(`mount -t tmpfs -o size=%d tmpfs "$0" && exec "$@"`, bytes)
	cmd := exec.Command("unshare", append(unshare, "/bin/sh", "-c", script, dir, program(e.t, e.Package), "request-manager")...)
	cmd.Dir = e.Dir
	cmd.Env = append(cleanEnv(), "TREADLE_SERVER_ADDR="+addr, "TREADLE_SPECS_DIR="+e.SpecsDir)
	cmd.Env = append(append(cmd.Env, e.database...), "TREADLE_SQLITE_PATH="+filepath.Join(dir, "treadle.db"))
	rm = e.startProcess(cmd, "request-manager", addr)
	rm.WaitReady()
	return rm, filepath.Join("/proc", fmt.Sprint(rm.PID()), "root", dir)
}

// Check runs treadle check on the database of the test and fails it if something is
// wrong.
func (e *Env) Check() {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, Binary(e.t), "check", "--all")
	cmd.Dir, cmd.Env = e.Dir, append(cleanEnv(), e.database...)
	if out, err := cmd.CombinedOutput(); err != nil {
		e.t.Errorf("treadle check: %v\n%s", err, out)
	}
}
