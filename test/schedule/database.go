package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/go-sql-driver/mysql"

	"github.com/treadle-run/treadle/request-manager/schedule/torture"
	"github.com/treadle-run/treadle/test/galera"
	"github.com/treadle-run/treadle/test/mariadb"
)

// The kinds of databases.
const (
	onSQLite  = "sqlite"
	onMariaDB = "mariadb"
	onGalera  = "galera"
)

// servers says how many each kind has.
var servers = map[string]int{onSQLite: 0, onMariaDB: 1, onGalera: 3}

// run starts a database, runs the test on it, and removes it.
func run(ctx context.Context, o options) (*torture.Report, error) {
	if o.Program == "" {
		remove, err := o.build(ctx)
		if err != nil {
			return nil, err
		}
		defer remove()
	}
	o.Args = []string{"torture", "member"}
	switch o.db {
	case onSQLite:
		return runSQLite(ctx, o)
	case onMariaDB:
		return runMariaDB(ctx, o)
	case onGalera:
		return runGalera(ctx, o)
	}
	return nil, fmt.Errorf("no database %q: mariadb, sqlite or galera", o.db)
}

func runSQLite(ctx context.Context, o options) (*torture.Report, error) {
	dir, err := os.MkdirTemp("", "treadle-schedule-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory: the system cleans up what is left
	o.Members = 1
	o.Store.SQLitePath = filepath.Join(dir, "treadle.db")
	o.MemberEnv = func(int) []string { return []string{"TREADLE_SQLITE_PATH=" + o.Store.SQLitePath, "TREADLE_MYSQL_DSN="} }
	return torture.Run(ctx, o.Options)
}

func runMariaDB(ctx context.Context, o options) (*torture.Report, error) {
	s, err := mariadb.Start(ctx, mariadb.Options{})
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = s.Signal(syscall.SIGCONT) // a frozen one would not end
		s.Stop()
	}()
	if o.Store.MySQLDSN, err = s.NewDatabase(ctx); err != nil {
		return nil, err
	}
	o.Servers = []torture.Server{s}
	o.MemberEnv = func(int) []string { return env(o.Store.MySQLDSN) }
	return torture.Run(ctx, o.Options)
}

func env(dsn string) []string {
	return []string{"TREADLE_MYSQL_DSN=" + dsn, "TREADLE_SQLITE_PATH="}
}

// clusterNet is the network of the driver by which the test reaches any node that
// answers. Members have one node each.
const clusterNet = "cluster"

var clusters sync.Mutex // the driver knows one network of that name

func runGalera(ctx context.Context, o options) (*torture.Report, error) {
	clusters.Lock()
	defer clusters.Unlock()
	c, err := galera.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Stop()
	name, err := c.NewDatabase(ctx)
	if err != nil {
		return nil, err
	}
	for i := range c.Size() {
		o.Servers = append(o.Servers, c.Node(i))
	}
	mysql.RegisterDialContext(clusterNet, func(ctx context.Context, _ string) (net.Conn, error) {
		var errs []error
		for i := range c.Size() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.Node(i).Addr())
			if err == nil {
				return conn, nil
			}
			errs = append(errs, err)
		}
		return nil, errors.Join(errs...)
	})
	cfg, err := mysql.ParseDSN(c.Node(0).DSN(name))
	if err != nil {
		return nil, err
	}
	cfg.Net, cfg.Addr = clusterNet, "any"
	// What other nodes have committed counts.
	cfg.Params = map[string]string{"wsrep_sync_wait": "1"}
	o.Store.MySQLDSN = cfg.FormatDSN()
	o.MemberEnv = func(i int) []string { return env(c.Node(i % c.Size()).DSN(name)) }
	return torture.Run(ctx, o.Options)
}

// build builds the binary that members run.
func (o *options) build(ctx context.Context) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "treadle-schedule-bin-")
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	o.Program = filepath.Join(dir, "treadle")
	args := []string{"build", "-o", o.Program}
	if o.race {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "github.com/treadle-run/treadle/cmd/treadle")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		remove()
		return nil, fmt.Errorf("go build: %w: %s", err, out)
	}
	return remove, nil
}
