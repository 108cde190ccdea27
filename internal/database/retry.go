package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
)

// A transaction that another one pushed aside has lost nothing but its place: it
// is tried again soon and often, beside the tries for a database that is unavailable.
const (
	againTries = 20
	againWait  = 2 * time.Millisecond // grows with every try
	againMax   = 100 * time.Millisecond
)

// Do is the one place where transactions are tried again. It runs fn, which must
// be a whole transaction, until it succeeds, fails for a reason that time does
// not heal, or the tries are used up. A later try may find that an earlier one went
// through after all: what must not happen twice is for InTxOnce or DoOnce. Errors name
// op.
func (d *DB) Do(ctx context.Context, op string, fn func(ctx context.Context) error) error {
	again, away := 0, 0
	for try := 1; ; try++ {
		err := fn(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", op, errors.Join(context.Cause(ctx), err))
		}
		var pause time.Duration
		switch class := d.Dialect.Classify(err); class {
		case ClassAgain:
			if again++; again >= againTries {
				return fmt.Errorf("%s: %w: %w", op, ErrUnavailable, err)
			}
			pause = min(againWait<<min(again, 16), againMax)
			pause = time.Duration(rand.Int64N(int64(pause)))
		case ClassDenied:
			return fmt.Errorf("%s: %w: %w", op, ErrDenied, err)
		case ClassAway, ClassFull, ClassReadOnly:
			if away++; away >= d.Config.Tries {
				return fmt.Errorf("%s: %w: %w", op, unavailable(class), err)
			}
			pause = d.Config.RetryWait*3/4 + time.Duration(rand.Int64N(int64(d.Config.RetryWait)/2+1))
			d.Config.Logger.WarnContext(ctx, "database is unavailable: trying again", "op", op, "try", try, "wait", pause, "error", err)
		default:
			return fmt.Errorf("%s: %w", op, err)
		}
		if err := wait.For(ctx, pause); err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
	}
}

func unavailable(class ErrorClass) error {
	switch class {
	case ClassFull:
		return ErrDiskFull
	case ClassReadOnly:
		return ErrReadOnly
	}
	return ErrUnavailable
}

// Once returns the database for transactions that are not tried again while it is
// unavailable: whoever asks waits for the answer.
func (d *DB) Once() *DB {
	once := *d
	once.Config.Tries = 1
	return &once
}

// Tx is a transaction that runs.
type Tx struct {
	*sql.Tx
	DB *DB
	// Token is what InTxOnce knows the transaction by; 0 in others.
	Token Token
}

// InTx runs fn in a transaction, with Do. The end of a ctx without a deadline keeps
// it from beginning and from being tried again, and does not break it off: it is
// short, the driver bounds each statement, and to watch ctx costs two switches
// between goroutines for each of them. A deadline is kept.
func (d *DB) InTx(ctx context.Context, op string, fn func(ctx context.Context, t *Tx) error) error {
	return d.Do(ctx, op, func(ctx context.Context) error {
		return d.inTx(ctx, func(ctx context.Context, t *sql.Tx) error {
			if err := fn(ctx, &Tx{Tx: t, DB: d}); err != nil {
				_ = t.Rollback() // it cannot be worse than err
				return err
			}
			return t.Commit()
		})
	})
}

// inTx starts a transaction, which fn ends.
func (d *DB) inTx(ctx context.Context, fn func(ctx context.Context, t *sql.Tx) error) (err error) {
	if d.turn != nil {
		select {
		case d.turn <- struct{}{}:
			defer func() { <-d.turn }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	conn, err := d.Writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if e := conn.Close(); err == nil && !errors.Is(e, sql.ErrConnDone) {
			err = e
		}
	}()
	if _, ok := ctx.Deadline(); !ok {
		ctx = context.WithoutCancel(ctx)
	}
	t, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	return fn(ctx, t)
}

// ReadTx runs fn in a transaction that only reads, and sees the database as it was
// at one moment, with Do.
func (d *DB) ReadTx(ctx context.Context, op string, fn func(ctx context.Context, t *Tx) error) error {
	return d.Do(ctx, op, func(ctx context.Context) error {
		sqlTx, err := d.Reader.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
		if err != nil {
			return err
		}
		defer sqlTx.Rollback()
		return fn(ctx, &Tx{Tx: sqlTx, DB: d})
	})
}

// classifyConn classes what is wrong with a connection, in any dialect.
func classifyConn(err error) ErrorClass {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) {
		return ClassAway
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return ClassAway
	}
	return ClassOther
}
