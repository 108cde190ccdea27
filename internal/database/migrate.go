package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/mysql"
	"github.com/golang-migrate/migrate/v4/database/sqlite"
	"github.com/golang-migrate/migrate/v4/source"
	"github.com/golang-migrate/migrate/v4/source/iofs"

	"github.com/treadle-run/treadle/internal/wait"
)

// Where another process may be at it at the same time, migrations are tried this
// often, this far apart.
const (
	migrateTries = 30
	migrateWait  = 500 * time.Millisecond
)

const (
	errNoLocksInCluster = 1235 // GET_LOCK on a Galera node
	errTableExists      = 1050 // made just now by another node of the cluster
	errColumnExists     = 1060 // likewise
	errNoTable          = 1146 // renamed just now by another node
	errNoColumn         = 1054 // likewise
)

// Migrate brings the schema to the newest step. Any number of processes may call
// it at once. It never goes back: a schema that is newer than the program is left
// alone.
func (d *DB) Migrate(ctx context.Context) error {
	var err error
	for try := range migrateTries {
		if try > 0 {
			if e := wait.For(ctx, migrateWait); e != nil {
				return fmt.Errorf("migrate: %w", errors.Join(e, err))
			}
		}
		err = d.migrateOnce(ctx)
		if err == nil || !d.migrateAgain(err) {
			break
		}
		d.Config.Logger.DebugContext(ctx, "migration: trying again", "error", err)
	}
	if err != nil {
		switch d.Dialect.Classify(migrationCause(err)) {
		case ClassAway:
			return fmt.Errorf("migrate: %w: %w", ErrUnavailable, err)
		case ClassReadOnly:
			return fmt.Errorf("migrate: %w: %w", ErrReadOnly, err)
		case ClassDenied:
			return fmt.Errorf("migrate: %w: %w", ErrDenied, err)
		}
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// migrateAgain reports whether err may come from another process that migrates,
// or from a database that is about to start.
func (d *DB) migrateAgain(err error) bool {
	if _, ok := errors.AsType[migrate.ErrDirty](err); ok {
		return true
	}
	if errors.Is(err, database.ErrLocked) || errors.Is(err, migrate.ErrLockTimeout) {
		return true
	}
	cause := migrationCause(err)
	if e, ok := errors.AsType[*mysqldriver.MySQLError](cause); ok {
		switch e.Number {
		case errTableExists, errColumnExists, errNoTable, errNoColumn:
			return true
		}
	}
	switch d.Dialect.Classify(cause) {
	case ClassAgain, ClassAway, ClassReadOnly, ClassDuplicate:
		return true
	}
	return false
}

// migrationCause takes the driver's error out of one of golang-migrate, which
// does not unwrap.
func migrationCause(err error) error {
	if e, ok := errors.AsType[*database.Error](err); ok && e.OrigErr != nil {
		return e.OrigErr
	}
	if e, ok := errors.AsType[database.Error](err); ok && e.OrigErr != nil {
		return e.OrigErr
	}
	return err
}

func (d *DB) migrateOnce(ctx context.Context) error {
	_, newest, err := d.sourceSteps()
	if err != nil {
		return err
	}
	current, dirty, err := d.schemaVersion(ctx)
	if err == nil && !dirty && current > newest {
		d.Config.Logger.WarnContext(ctx, "the schema of the database is newer than this program: upgrade the program",
			"schema", current, "known", newest)
	}
	if err == nil && !dirty && current >= newest {
		return nil // the usual start: nothing to do, nothing to lock
	}
	if d.Dialect == &MySQLDialect {
		err := d.migrateMySQL(ctx, false)
		if e, ok := errors.AsType[*mysqldriver.MySQLError](migrationCause(err)); ok && e.Number == errNoLocksInCluster {
			return d.migrateMySQL(ctx, true)
		}
		return err
	}
	return d.migrateSQLite()
}

// migrateMySQL runs the steps on a connection of its own: it needs statements
// without end and several in one.
func (d *DB) migrateMySQL(ctx context.Context, noLock bool) (err error) {
	cfg, err := d.MySQLConfig()
	if err != nil {
		return err
	}
	cfg.MultiStatements = true
	cfg.ReadTimeout, cfg.WriteTimeout = 0, 0
	db, err := openMySQLPool(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	driver, err := mysql.WithConnection(ctx, conn, &mysql.Config{NoLock: noLock})
	if err != nil {
		return err
	}
	return d.up(driver)
}

// migrateSQLite runs the steps on the writing connection. What golang-migrate
// does is not one transaction, so that processes take turns by a lock on a file.
func (d *DB) migrateSQLite() (err error) {
	if d.Config.SQLitePath != MemoryPath {
		unlock, err := lockFile(filepath.Clean(d.Config.SQLitePath) + ".migrate")
		if err != nil {
			return err
		}
		defer unlock()
	}
	driver, err := sqlite.WithInstance(d.Writer, &sqlite.Config{})
	if err != nil {
		return err
	}
	return d.up(driver) // the driver is not closed: that would close the pool
}

func (d *DB) up(driver database.Driver) error {
	src, _, err := d.sourceSteps()
	if err != nil {
		return err
	}
	m, err := migrate.NewWithInstance("iofs", src, d.Dialect.name, driver)
	if err != nil {
		return err
	}
	if err := m.Up(); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return err
	}
	return nil
}

// lockFile waits for a lock that ends with the process. The file stays: removing
// it would let two hold the lock.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // closing unlocks; nothing was written
}

// MigrationStatus returns the step that the schema is at (0: none), the newest
// one that this program knows, and whether a step broke off in the middle.
func (d *DB) MigrationStatus(ctx context.Context) (current, newest uint, dirty bool, err error) {
	if _, newest, err = d.sourceSteps(); err != nil {
		return 0, 0, false, fmt.Errorf("migration status: %w", err)
	}
	err = d.Do(ctx, "migration status", func(ctx context.Context) error {
		var err error
		current, dirty, err = d.schemaVersion(ctx)
		return err
	})
	return current, newest, dirty, err
}

// schemaVersion reads golang-migrate's table.
func (d *DB) schemaVersion(ctx context.Context) (version uint, dirty bool, err error) {
	var n int
	tables := d.Query("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'")
	if d.Dialect == &MySQLDialect {
		tables = d.Query(`SELECT COUNT(*) FROM information_schema.tables
			WHERE table_schema = DATABASE() AND table_name = 'schema_migrations'`)
	}
	if err := tables.Row(ctx, d.Reader, &n); err != nil || n == 0 {
		return 0, false, err
	}
	var v sql.NullInt64
	err = d.Query("SELECT version, dirty FROM schema_migrations LIMIT 1").Row(ctx, d.Reader, &v, &dirty)
	if errors.Is(err, ErrNotFound) {
		return 0, false, nil
	}
	if v.Int64 < 0 {
		v.Int64 = 0
	}
	return uint(v.Int64), dirty, err
}

// sourceSteps opens the embedded steps and returns the number of the last.
func (d *DB) sourceSteps() (source.Driver, uint, error) {
	src, err := iofs.New(d.Dialect.migrations(), ".")
	if err != nil {
		return nil, 0, err
	}
	v, err := src.First()
	for err == nil {
		next, e := src.Next(v)
		if errors.Is(e, os.ErrNotExist) {
			return src, v, nil
		}
		v, err = next, e
	}
	return nil, 0, err
}
