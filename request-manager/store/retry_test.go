package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
)

func TestErrorClasses(t *testing.T) {
	t.Parallel()
	my := func(n uint16) error { return fmt.Errorf("wrapped: %w", &mysql.MySQLError{Number: n}) }
	for _, tt := range []struct {
		name string
		err  error
		want errorClass
	}{
		{"deadlock", my(1213), classAgain},
		{"lock wait", my(1205), classAgain},
		{"galera not ready", my(1047), classAway},
		{"read only", my(1290), classAway},
		{"read-only transaction", my(1792), classAway},
		{"read-only mode", my(1836), classAway},
		{"disk full", my(1021), classFull},
		{"table full", my(1114), classFull},
		{"duplicate", my(1062), classDuplicate},
		{"too long", my(1406), classData},
		{"packet too large", mysql.ErrPktTooLarge, classData},
		{"connection lost", mysql.ErrInvalidConn, classAway},
		{"bad connection", driver.ErrBadConn, classAway},
		{"cut in the middle", io.ErrUnexpectedEOF, classAway},
		{"refused", &net.OpError{Op: "dial", Err: errors.New("connection refused")}, classAway},
		{"no such table", my(1146), classOther},
		{"access denied", my(1045), classOther},
		{"not updated", ErrNotUpdated, classOther},
	} {
		if got := classifyMySQL(tt.err); got != tt.want {
			t.Errorf("%s: class %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	away, again, full := &mysql.MySQLError{Number: 1836}, &mysql.MySQLError{Number: 1213}, &mysql.MySQLError{Number: 1021}
	tests := []struct {
		name     string
		errs     []error // of the tries; then nil
		tries    int
		want     error
		min, max time.Duration
	}{
		{name: "at once", tries: 1},
		{name: "away for two tries", errs: []error{away, away}, tries: 3, min: 750 * time.Millisecond, max: 1250 * time.Millisecond},
		{name: "away for good", errs: []error{away, away, away}, tries: 3, want: ErrUnavailable, max: 1250 * time.Millisecond},
		{name: "disk full", errs: []error{full, full, full}, tries: 3, want: ErrDiskFull, max: 1250 * time.Millisecond},
		{name: "deadlocks", errs: []error{again, again, again, again}, tries: 5, max: 100 * time.Millisecond},
		{name: "not to be retried", errs: []error{ErrNotUpdated}, tries: 1, want: ErrNotUpdated},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			cfg := Config{MySQLDSN: "x"}
			must(t, cfg.validate())
			cfg = cfg.withDefaults()
			s := &Store{cfg: cfg, dialect: &mysqlDialect}
			start, tries := time.Now(), 0
			err := s.do(t.Context(), "test", func(_ context.Context, try int) error {
				if tries++; try != tries {
					t.Errorf("%s: try %d is called %d", tt.name, tries, try)
				}
				if tries <= len(tt.errs) {
					return tt.errs[tries-1]
				}
				return nil
			})
			if !errors.Is(err, tt.want) || tries != tt.tries {
				t.Errorf("%s: error %v after %d tries, want %v after %d", tt.name, err, tries, tt.want, tt.tries)
			}
			if took := time.Since(start); took < tt.min || took > tt.max {
				t.Errorf("%s: took %s, want %s to %s", tt.name, took, tt.min, tt.max)
			}
		})
	}
}

func TestRetriesEndWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{MySQLDSN: "x", Tries: 1000}
		must(t, cfg.validate())
		cfg = cfg.withDefaults()
		s := &Store{cfg: cfg, dialect: &mysqlDialect}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := s.do(ctx, "test", func(context.Context, int) error { return driver.ErrBadConn })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want that of the context", err)
		}
	})
}

func TestDatabaseThatIsNotThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := l.Addr().String()
	must(t, l.Close())
	s, err := Open(t.Context(), Config{MySQLDSN: "u@tcp(" + addr + ")/d", RetryWait: time.Millisecond})
	must(t, err)
	defer s.Close()
	for name, err := range map[string]error{
		"ping":    s.Ping(t.Context()),
		"request": second(s.Request(t.Context(), newID())),
		"create":  s.CreateRequests(t.Context(), []NewRequest{newRequest(newID())}),
	} {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: error %v, want ErrUnavailable", name, err)
		}
	}
}

func TestTheDatabasesClock(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		f := &fixture{Store: openStore(t, cfg)}
		now, err := f.Now(t.Context())
		must(t, err)
		if d := time.Since(now).Abs(); d > 10*time.Second || now.Location() != time.UTC {
			t.Errorf("the database's clock says %s, %s off", now, d)
		}
		r := f.request(t, f.inState(t, 3))
		if r.CreatedAt.Before(now) || r.StartedAt.Before(r.CreatedAt) || r.FinishedAt.Before(*r.StartedAt) ||
			r.FinishedAt.Sub(now) > time.Minute {
			t.Errorf("after %s: created %s, started %s, finished %s", now, r.CreatedAt, r.StartedAt, r.FinishedAt)
		}
	})
}
