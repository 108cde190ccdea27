// Package database is what the stores of Treadle are built on: a connection to MySQL
// (or MariaDB, or a Galera cluster) or to SQLite, the differences between these,
// transactions that are retried as a whole, statements with markers, stored blobs,
// migrations, and the errors of all that.
//
// It knows no table but that of the migrations, and imports proto, migrations and
// internal packages.
package database

import (
	"cmp"
	"context"
	"crypto/cipher"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config says where the database is and how to use it.
type Config struct {
	// MySQLDSN is a go-sql-driver data source name; SQLitePath is a file, made when
	// it is not there, or ":memory:". Exactly one of them is set.
	MySQLDSN   string
	SQLitePath string
	// TLS, if not nil, is how to talk to MySQL.
	TLS *tls.Config
	// Tries is how often a transaction is tried when the database is unavailable; 0 is 3.
	Tries int
	// RetryWait is the wait between these tries, give or take a quarter; 0 is 500 ms.
	RetryWait time.Duration
	// SecretsKey encrypts what callers ask to seal: 32 bytes, or nil for none.
	SecretsKey []byte
	// MaxOpenConns limits the connections to MySQL; 0 is 32.
	MaxOpenConns int
	// Logger says what was retried and set aside; nil discards.
	Logger *slog.Logger
	// Now, if not nil, takes the place of the database's clock. For tests.
	Now func() time.Time
}

func (c Config) validate() error {
	if (c.MySQLDSN == "") == (c.SQLitePath == "") {
		return errors.New("exactly one of MySQLDSN and SQLitePath must be set")
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Tries = cmp.Or(c.Tries, 3)
	c.RetryWait = cmp.Or(c.RetryWait, 500*time.Millisecond)
	c.MaxOpenConns = cmp.Or(c.MaxOpenConns, 32)
	return c
}

// DB is an open database. Its methods may be called from many goroutines.
type DB struct {
	Config  Config
	Dialect *dialect
	// write and read are the same pool but for SQLite in a file, which has one
	// writer and many readers.
	Writer, Reader *sql.DB
	// turn is taken by each transaction where there is one writer; nil elsewhere.
	// Heartbeats are no transactions: they wait for the one that runs, not for all
	// that wait. A runner that is not seen in time is declared dead, and then there is still
	// more to write.
	turn chan struct{}
	aead cipher.AEAD // nil without a secrets key
}

// Open prepares the connection to a database. It neither waits for the database
// to answer nor migrates it.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	cfg = cfg.withDefaults()
	d := &DB{Config: cfg}
	var err error
	if d.aead, err = newAEAD(cfg.SecretsKey); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	if cfg.MySQLDSN != "" {
		err = d.openMySQL()
	} else {
		err = d.openSQLite(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return d, nil
}

// Close closes all connections. It waits for transactions that run.
func (d *DB) Close() error {
	if d.Reader == d.Writer {
		return d.Writer.Close()
	}
	return errors.Join(d.Reader.Close(), d.Writer.Close())
}

// Ping reports whether the database answers. It tries once.
func (d *DB) Ping(ctx context.Context) error {
	if err := d.Writer.PingContext(ctx); err != nil {
		return fmt.Errorf("ping: %w: %w", ErrUnavailable, err)
	}
	return nil
}

// Now returns the time by the database's clock, in UTC, to the microsecond.
func (d *DB) Now(ctx context.Context) (time.Time, error) {
	var now int64
	err := d.Do(ctx, "now", func(ctx context.Context) error {
		var err error
		now, err = d.ReadNow(ctx, d.Reader)
		return err
	})
	return FromMicros(now), err
}

// ReadNow asks the database for the time, in microseconds.
func (d *DB) ReadNow(ctx context.Context, db Querier) (int64, error) {
	if d.Config.Now != nil {
		return d.Config.Now().UnixMicro(), nil
	}
	if d.Dialect.now == "" {
		return time.Now().UnixMicro(), nil
	}
	var now int64
	err := db.QueryRowContext(ctx, "SELECT "+d.Dialect.now).Scan(&now)
	return now, err
}

// FromMicros is the time of a column that has microseconds.
func FromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// FromNullMicros is FromMicros of a column that may be null.
func FromNullMicros(us sql.NullInt64) *time.Time {
	if !us.Valid {
		return nil
	}
	t := FromMicros(us.Int64)
	return &t
}
