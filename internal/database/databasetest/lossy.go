package databasetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/database"
)

// lossy is a driver under which the next change fails, or the answer to it is lost: it
// was made. In both cases the caller is told that the connection broke.
type lossy struct {
	driver.Driver
	dsn        string
	lose, fail atomic.Bool
	lost       func() // called when an answer is lost
}

// failed makes the change, and reports whether its caller is not to know.
func (l *lossy) failed(change func() error) bool {
	if l.fail.CompareAndSwap(true, false) {
		return true
	}
	if change() != nil || !l.lose.CompareAndSwap(true, false) {
		return false
	}
	l.lost()
	return true
}

func (l *lossy) Connect(context.Context) (driver.Conn, error) {
	c, err := l.Open(l.dsn)
	if err != nil {
		return nil, err
	}
	return &lossyConn{fullConn: c.(fullConn), l: l}, nil
}

// connector makes the connections of a pool.
func (l *lossy) connector() driver.Connector { return lossyConnector{l} }

type lossyConnector struct{ l *lossy }

func (c lossyConnector) Connect(ctx context.Context) (driver.Conn, error) { return c.l.Connect(ctx) }
func (c lossyConnector) Driver() driver.Driver                            { return c.l.Driver }

type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
}

type lossyConn struct {
	fullConn
	l    *lossy
	inTx bool
}

func (c *lossyConn) CheckNamedValue(v *driver.NamedValue) error {
	if x, ok := c.fullConn.(driver.NamedValueChecker); ok {
		return x.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *lossyConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.fullConn.BeginTx(ctx, opts)
	c.inTx = err == nil
	return &lossyTx{tx, c}, err
}

func (c *lossyConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if c.inTx {
		return c.fullConn.ExecContext(ctx, q, args)
	}
	var res driver.Result
	var err error
	if c.l.failed(func() error { res, err = c.fullConn.ExecContext(ctx, q, args); return err }) {
		return nil, io.ErrUnexpectedEOF
	}
	return res, err
}

type lossyTx struct {
	driver.Tx
	c *lossyConn
}

func (t *lossyTx) Rollback() error {
	t.c.inTx = false
	return t.Tx.Rollback()
}

func (t *lossyTx) Commit() error {
	t.c.inTx = false
	committed := false
	var err error
	failed := t.c.l.failed(func() error {
		committed = true
		err = t.Tx.Commit()
		return err
	})
	switch {
	case !failed:
		return err
	case !committed:
		return errors.Join(io.ErrUnexpectedEOF, t.Tx.Rollback())
	}
	return io.ErrUnexpectedEOF
}

// Losing makes the database lose the answer to the next change whenever the function
// that it returns was called.
func Losing(t *testing.T, db *database.DB) (lose func()) {
	t.Helper()
	lose, _ = Faults(t, db, func() {})
	return lose
}

// Faults makes the database lose the answer to the next change, or fail it, whenever one
// of the functions that it returns was called. It calls lost when it has lost an answer.
func Faults(t *testing.T, db *database.DB, lost func()) (lose, fail func()) {
	t.Helper()
	l := &lossy{Driver: db.Writer.Driver(), dsn: db.Config.MySQLDSN, lost: lost}
	if db.Dialect == &database.SQLiteDialect {
		l.dsn = database.SQLiteDSN(db.Config.SQLitePath, "immediate")
	} else {
		cfg, err := db.MySQLConfig()
		must(t, err)
		l.dsn = cfg.FormatDSN()
	}
	pool := sql.OpenDB(l.connector())
	pool.SetMaxOpenConns(1)
	must(t, db.Writer.Close())
	if db.Reader == db.Writer {
		db.Reader = pool
	}
	db.Writer = pool
	db.Config.RetryWait = time.Millisecond
	return func() { l.lose.Store(true) }, func() { l.fail.Store(true) }
}
