package torture

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "modernc.org/sqlite" // the driver of OpenSQLite

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/test/galera"
	"github.com/treadle-run/treadle/test/mariadb"
)

// The kinds of databases that a test starts.
const (
	OnSQLite  = "sqlite"
	OnMariaDB = "mariadb"
	OnGalera  = "galera" // a cluster of three nodes
)

// Servers says how many servers a kind of database has.
func Servers(kind string) (int, error) {
	n, ok := map[string]int{OnSQLite: 0, OnMariaDB: 1, OnGalera: 3}[kind]
	if !ok {
		return 0, fmt.Errorf("no database %q: mariadb, sqlite or galera", kind)
	}
	return n, nil
}

// Server is one server of a database.
type Server interface {
	Addr() string
	DSN(database string) string
	Signal(sig syscall.Signal) error
	Kill9()
	Restart(ctx context.Context) error
}

// Database is one that a test has started: a file, a server, or a cluster of some.
type Database struct {
	Kind    string
	Path    string // of the file, on SQLite
	Name    string
	Servers []Server
	stop    func()

	mu   sync.Mutex
	busy bool // a fault has it
}

// StartDatabase starts a database. On SQLite it is a file in dir, which whoever opens
// it first makes.
func StartDatabase(ctx context.Context, kind, dir string) (*Database, error) {
	if _, err := Servers(kind); err != nil {
		return nil, err
	}
	d := &Database{Kind: kind, stop: func() {}}
	var err error
	switch kind {
	case OnSQLite:
		d.Path = filepath.Join(dir, "treadle.db")
	case OnMariaDB:
		err = d.startMariaDB(ctx)
	default:
		err = d.startGalera(ctx)
	}
	if err != nil {
		d.stop()
		return nil, err
	}
	return d, nil
}

func (d *Database) startMariaDB(ctx context.Context) error {
	s, err := mariadb.Start(ctx, mariadb.Options{})
	if err != nil {
		return err
	}
	d.Servers, d.stop = []Server{s}, func() {
		_ = s.Signal(syscall.SIGCONT) // a frozen one would not end
		s.Stop()
	}
	dsn, err := s.NewDatabase(ctx)
	d.Name = dsn[strings.LastIndexByte(dsn, '/')+1:]
	return err
}

func (d *Database) startGalera(ctx context.Context) error {
	c, err := galera.Start(ctx)
	if err != nil {
		return err
	}
	for i := range c.Size() {
		d.Servers = append(d.Servers, c.Node(i))
	}
	d.stop = c.Stop
	d.Name, err = c.NewDatabase(ctx)
	return err
}

// Stop ends it for good, and removes what is not in the directory of the test.
func (d *Database) Stop() { d.stop() }

// DSN returns the data source name by which server i is reached.
func (d *Database) DSN(i int) string { return d.Servers[i%len(d.Servers)].DSN(d.Name) }

// Env tells a program of Treadle to use server i, or the file. Via, if not "", is
// where it connects to instead of the server.
func (d *Database) Env(i int, via string) []string {
	if len(d.Servers) == 0 {
		return []string{"TREADLE_SQLITE_PATH=" + d.Path, "TREADLE_MYSQL_DSN="}
	}
	dsn := d.DSN(i)
	if via != "" {
		dsn = strings.Replace(dsn, d.Servers[i%len(d.Servers)].Addr(), via, 1)
	}
	return []string{"TREADLE_MYSQL_DSN=" + dsn, "TREADLE_SQLITE_PATH="}
}

var networks atomic.Int64 // that AnyDSN has made

// AnyDSN returns a data source name for this process alone, by which whichever server
// answers is reached.
func (d *Database) AnyDSN() (string, error) {
	if len(d.Servers) == 1 {
		return d.DSN(0), nil
	}
	network := fmt.Sprintf("cluster%d", networks.Add(1))
	mysql.RegisterDialContext(network, func(ctx context.Context, _ string) (net.Conn, error) {
		var errs []error
		for _, s := range d.Servers {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr())
			if err == nil {
				return conn, nil
			}
			errs = append(errs, err)
		}
		return nil, errors.Join(errs...)
	})
	cfg, err := mysql.ParseDSN(d.DSN(0))
	if err != nil {
		return "", err
	}
	cfg.Net, cfg.Addr = network, "any"
	cfg.Params = map[string]string{"wsrep_sync_wait": "1"} // what other nodes have committed counts
	return cfg.FormatDSN(), nil
}

// Look opens the database to look at it from outside, not through a proxy.
func (d *Database) Look() (*sql.DB, error) {
	if len(d.Servers) == 0 {
		return OpenSQLite(d.Path, "busy_timeout(10000)", "query_only(1)")
	}
	dsn, err := d.AnyDSN()
	if err != nil {
		return nil, err
	}
	return OpenMySQL(dsn, nil)
}

// OpenSQLite opens a file with some pragmas.
func OpenSQLite(path string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_pragma": pragmas}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: path, RawQuery: q.Encode()}).String())
}

// OpenMySQL opens a database whose servers are killed and frozen.
func OpenMySQL(dsn string, with *tls.Config) (*sql.DB, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("mysql dsn: expected user:password@tcp(host:port)/database") // the error may hold a password
	}
	if with != nil {
		cfg.TLS = with
	}
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = 2*time.Second, 20*time.Second, 20*time.Second
	cfg.InterpolateParams = true
	cfg.Logger = &mysql.NopLogger{} // that servers are killed is no news
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	// One that a server which has lost the others keeps open must not be used for long.
	db.SetConnMaxLifetime(2 * time.Second)
	return db, nil
}

// restartTries is how often a server is started again: a node of a cluster that is
// busy may need more than one try.
const restartTries = 3

// Break does a fault to a server of the database. All servers are taken for it: a
// cluster that loses two of three has lost its majority for good.
func (d *Database) Break(ctx context.Context, f Fault, say Say) error {
	if !d.claim() {
		return ErrTaken
	}
	defer d.release()
	s, err := d.server(f.Target)
	if err != nil {
		return err
	}
	if f.Kind == DBStop {
		if err := s.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		_ = wait.For(ctx, f.Length) // when ctx ends, it is healed early
		return s.Signal(syscall.SIGCONT)
	}
	s.Kill9()
	_ = wait.For(ctx, f.Length)
	for range restartTries {
		if err = s.Restart(context.WithoutCancel(ctx)); err == nil {
			return nil
		}
		say.Printf("the database does not start: %.200s", err)
	}
	return fmt.Errorf("%w: the database does not start: %w", ErrBroken, err)
}

// server returns a server by its name in a plan.
func (d *Database) server(name string) (Server, error) {
	for i, s := range d.Servers {
		if name == ServerName(i, len(d.Servers)) {
			return s, nil
		}
	}
	return nil, fmt.Errorf("there is no server %s", name)
}

func (d *Database) claim() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy {
		return false
	}
	d.busy = true
	return true
}

func (d *Database) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy = false
}
