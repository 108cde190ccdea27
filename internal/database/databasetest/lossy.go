package databasetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/database"
)

// lossy is a driver under which the answer to the next change is lost: it was made,
// and the caller is told that the connection broke.
type lossy struct {
	driver.Driver
	dsn  string
	lose atomic.Bool
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
	res, err := c.fullConn.ExecContext(ctx, q, args)
	if err == nil && !c.inTx && c.l.lose.CompareAndSwap(true, false) {
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
	err := t.Tx.Commit()
	if err == nil && t.c.l.lose.CompareAndSwap(true, false) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Losing makes the database lose the answer to the next change whenever the function
// that it returns was called.
func Losing(t *testing.T, db *database.DB) func() {
	t.Helper()
	l := &lossy{Driver: db.Writer.Driver(), dsn: db.Config.MySQLDSN}
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
	return func() { l.lose.Store(true) }
}
