package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "modernc.org/sqlite" // to look at a SQLite database from outside

	"github.com/treadle-run/treadle/test/galera"
	"github.com/treadle-run/treadle/test/mariadb"
)

// The kinds of databases.
const (
	onSQLite  = "sqlite"
	onMariaDB = "mariadb"
	onGalera  = "galera"
)

// databases says how many servers each kind has.
var databases = map[string]int{onSQLite: 0, onMariaDB: 1, onGalera: 3}

// server is one server of the database.
type server interface {
	Addr() string
	DSN(database string) string
	Signal(sig syscall.Signal) error
	Kill9()
	Restart(ctx context.Context) error
}

// database is where requests are stored: a file, a server, or a cluster of some.
type database struct {
	path    string // on SQLite
	name    string
	servers []server
	stop    func()
	// look is to look at it from outside, not through a proxy.
	look *sql.DB
}

func startDatabase(ctx context.Context, kind, dir string) (*database, error) {
	d := &database{stop: func() {}}
	var err error
	switch kind {
	case onSQLite:
		d.path = filepath.Join(dir, "treadle.db")
		d.look, err = sql.Open("sqlite", "file:"+d.path+"?_pragma=busy_timeout(10000)&_pragma=query_only(1)")
		return d, err
	case onMariaDB:
		err = d.startMariaDB(ctx)
	default:
		err = d.startGalera(ctx)
	}
	if err == nil {
		err = d.open()
	}
	if err != nil {
		d.stop()
		return nil, err
	}
	return d, nil
}

func (d *database) startMariaDB(ctx context.Context) error {
	s, err := mariadb.Start(ctx, mariadb.Options{})
	if err != nil {
		return err
	}
	d.servers, d.stop = []server{s}, func() {
		_ = s.Signal(syscall.SIGCONT) // a frozen one would not end
		s.Stop()
	}
	dsn, err := s.NewDatabase(ctx)
	d.name = dsn[strings.LastIndexByte(dsn, '/')+1:]
	return err
}

func (d *database) startGalera(ctx context.Context) error {
	c, err := galera.Start(ctx)
	if err != nil {
		return err
	}
	for i := range c.Size() {
		d.servers = append(d.servers, c.Node(i))
	}
	d.stop = c.Stop
	d.name, err = c.NewDatabase(ctx)
	return err
}

// open opens the database by whichever server answers.
func (d *database) open() error {
	cfg, err := mysql.ParseDSN(d.servers[0].DSN(d.name))
	if err != nil {
		return err
	}
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = 2*time.Second, 5*time.Second, 5*time.Second
	cfg.Logger = &mysql.NopLogger{} // that servers are killed is no news
	cfg.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		var errs []error
		for i := range d.servers {
			c, err := (&net.Dialer{}).DialContext(ctx, network, d.servers[len(d.servers)-1-i].Addr())
			if err == nil {
				return c, nil
			}
			errs = append(errs, err)
		}
		return nil, errors.Join(errs...)
	}
	if len(d.servers) > 1 {
		cfg.Params = map[string]string{"wsrep_sync_wait": "1"} // what others have committed counts
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	d.look = sql.OpenDB(connector)
	// One that a server which has lost the others keeps open must not be used for long.
	d.look.SetConnMaxLifetime(2 * time.Second)
	return nil
}

// routes are the ways of a manager to the database: its own server, then the
// others.
func (d *database) routes(s *system, rm string, number int) []route {
	var all []route
	for i := range d.servers {
		x := d.servers[(number+i)%len(d.servers)]
		all = append(all, route{s.link(rm, "db"), x.Addr()})
	}
	return all
}

// env tells a program where the database is; addr, if not "", stands before the
// servers.
func (d *database) env(addr string) string {
	if len(d.servers) == 0 {
		return "TREADLE_SQLITE_PATH=" + d.path
	}
	dsn := d.servers[0].DSN(d.name)
	if addr != "" {
		dsn = strings.Replace(dsn, d.servers[0].Addr(), addr, 1)
	}
	return "TREADLE_MYSQL_DSN=" + dsn
}

// target returns a server by its name in a plan: db, or db1, db2, ...
func (d *database) target(name string) server {
	for i, s := range d.servers {
		if name == databaseName(i, len(d.servers)) {
			return s
		}
	}
	panic("faults: no server " + name)
}

func databaseName(i, of int) string {
	if of == 1 {
		return "db"
	}
	return fmt.Sprintf("db%d", i+1)
}

func (d *database) close() {
	if d.look != nil {
		_ = d.look.Close() // it only reads
	}
	d.stop()
}
