package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
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

// losing makes the store lose the answer to the next change whenever the function
// that it returns was called.
func (f *fixture) losing(t *testing.T) func() {
	t.Helper()
	l := &lossy{Driver: f.write.Driver(), dsn: f.cfg.MySQLDSN}
	if f.dialect == &sqliteDialect {
		l.dsn = sqliteDSN(f.cfg.SQLitePath, "immediate")
	} else {
		cfg, err := f.mysqlConfig()
		must(t, err)
		l.dsn = cfg.FormatDSN()
	}
	db := sql.OpenDB(l.connector())
	db.SetMaxOpenConns(1)
	must(t, f.write.Close())
	if f.read == f.write {
		f.read = db
	}
	f.write = db
	f.Store.cfg.RetryWait = time.Millisecond
	return func() { l.lose.Store(true) }
}

// TestLostAnswers to changes that went through: the call succeeds, and what it does is
// done once.
func TestLostAnswers(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		lose := f.losing(t)
		lost := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		ctx := t.Context()
		f.put(t, hourly("a"))
		spec := f.newestOf(t, "a").InstanceSpecifier
		lose()
		lost("reschedule", f.RescheduleInstance(ctx, spec, 1, period("a", 1), []AppEvent{{App: "a", Kind: proto.AppSkipped, PeriodStart: hour(0)}}))
		lose()
		lost("hold", f.HoldInstance(ctx, f.newestOf(t, "a").InstanceSpecifier, "", time.Second))
		lose()
		in, err := f.ClaimInstance(ctx, Claim{Spec: f.newestOf(t, "a").InstanceSpecifier, Member: "m1", Slot: true, Next: ptr(period("a", 2))})
		lost("claim", err)
		lose()
		spec, err = f.ParkInstance(ctx, in.InstanceSpecifier, Park{})
		lost("park", err)
		lose()
		in, err = f.ClaimInstance(ctx, Claim{Spec: spec, Member: "m1", Generation: 1})
		lost("claim again", err)
		lose()
		in, err = f.MoveInstance(ctx, in.InstanceSpecifier, proto.InstanceToUndo, "")
		lost("move", err)
		lose()
		lost("finish", f.FinishInstance(ctx, Finish{Spec: in.InstanceSpecifier, State: proto.InstanceFailed, Generation: 1,
			Events: []AppEvent{{App: "a", Kind: proto.AppFailed, PeriodStart: hour(1)}}}))
		if n := f.count(t, "schedule_events"); n != 2 {
			t.Errorf("%d events, want 2", n)
		}
		lose()
		made, err := f.ExtraInstances(ctx, "a", []NewInstance{period("a", 2), period("a", -1)}, false)
		lost("extra", err)
		if len(made) != 2 || made[0].Made || !made[1].Made {
			t.Errorf("made: %+v", made)
		}
		must(t, f.AddSignals(ctx, []Signal{{App: "a", PeriodStart: hour(-2)}}))
		lose()
		_, err = f.SettleSignal(ctx, f.signal(t), ptr(period("a", -2)))
		lost("settle", err)
		f.wantNumbers(t, "a", 4)
		p := hourly("a")
		p.App.Jitter = proto.Seconds(time.Minute)
		p.App.Host, p.DeadlineStart, p.DeadlineAt = "h", ptr(hour(0)), ptr(hour(1))
		lose()
		_, err = f.PutApp(ctx, p)
		lost("put", err)
		lose()
		lost("deadline", f.MoveDeadline(ctx, "a", hour(0), ptr(hour(1)), ptr(hour(2)), &AppEvent{App: "a", Kind: proto.AppLate}))
		lose()
		lost("pause", f.PauseApp(ctx, "a", true))
		lose()
		lost("delete", f.DeleteApp(ctx, "a", proto.AppFromAPI, 0))
		f.wantNumbers(t, "a", 4)
		if n := f.count(t, "schedule_events"); n != 3 {
			t.Errorf("%d events, want 3", n)
		}
		// What was not lost is still refused.
		if err := f.DeleteApp(ctx, "a", proto.AppFromAPI, 0); !errors.Is(err, ErrNotFound) {
			t.Errorf("deleted twice: %v", err)
		}
	})
}
