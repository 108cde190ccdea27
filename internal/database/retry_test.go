package database

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

	"github.com/treadle-run/treadle/internal/testkit"
)

func TestErrorClasses(t *testing.T) {
	t.Parallel()
	my := func(n uint16) error { return fmt.Errorf("wrapped: %w", &mysql.MySQLError{Number: n}) }
	for _, tt := range []struct {
		name string
		err  error
		want ErrorClass
	}{
		{"deadlock", my(1213), ClassAgain},
		{"lock wait", my(1205), ClassAgain},
		{"galera not ready", my(1047), ClassAway},
		{"read only", my(1290), ClassReadOnly},
		{"read-only transaction", my(1792), ClassReadOnly},
		{"read-only mode", my(1836), ClassReadOnly},
		{"user may not write", my(1142), ClassDenied},
		{"user may not log in", my(1045), ClassDenied},
		{"disk full", my(1021), ClassFull},
		{"table full", my(1114), ClassFull},
		{"duplicate", my(1062), ClassDuplicate},
		{"too long", my(1406), ClassData},
		{"packet too large", mysql.ErrPktTooLarge, ClassData},
		{"connection lost", mysql.ErrInvalidConn, ClassAway},
		{"bad connection", driver.ErrBadConn, ClassAway},
		{"cut in the middle", io.ErrUnexpectedEOF, ClassAway},
		{"refused", &net.OpError{Op: "dial", Err: errors.New("connection refused")}, ClassAway},
		{"no such table", my(1146), ClassOther},
		{"not updated", ErrNotUpdated, ClassOther},
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
			testkit.Must(t, cfg.validate())
			cfg = cfg.withDefaults()
			s := &DB{Config: cfg, Dialect: &MySQLDialect}
			start, tries := time.Now(), 0
			err := s.Do(t.Context(), "test", func(context.Context) error {
				if tries++; tries <= len(tt.errs) {
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
		testkit.Must(t, cfg.validate())
		cfg = cfg.withDefaults()
		s := &DB{Config: cfg, Dialect: &MySQLDialect}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := s.Do(ctx, "test", func(context.Context) error { return driver.ErrBadConn })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want that of the context", err)
		}
	})
}
