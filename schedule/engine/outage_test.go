package engine

import (
	"bytes"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), s)
}

// The tables are gone for ten minutes, as if the database were: the member drops what
// it has, does not fill the log, and catches up by itself.
func TestDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var log lockedBuffer
		e := w.engine("m1", brisk, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		w.do("tick", lasts(20*time.Second))
		w.put(e, minutely(nil))
		w.run(e)
		at(2*time.Minute + 10*time.Second) // an instance runs
		db, err := sql.Open("sqlite", w.path)
		must(w.t, err)
		defer func() { must(w.t, db.Close()) }()
		exec := func(stmts ...string) {
			for _, s := range stmts {
				_, err := db.ExecContext(w.t.Context(), s)
				must(w.t, err)
			}
		}
		exec("ALTER TABLE schedule_instances RENAME TO gone_instances", "ALTER TABLE schedule_members RENAME TO gone_members")
		at(12*time.Minute + 10*time.Second)
		if n := log.count("is failing"); n < 10 || n > 60 {
			w.t.Errorf("%d lines say that something is failing in ten minutes, want about one a minute for each role", n)
		}
		exec("ALTER TABLE gone_instances RENAME TO schedule_instances", "ALTER TABLE gone_members RENAME TO schedule_members")
		at(15*time.Minute + 50*time.Second)
		list := w.instances("tick")
		if in := list[1]; in.State != proto.InstanceSucceeded {
			w.t.Errorf("what ran when the database went away is %s", in.State)
		}
		last := list[len(list)-1]
		if last.PeriodStart.Sub(epoch) != 16*time.Minute {
			w.t.Errorf("the next one is %s, want that of 00:16", last.Name)
		}
		if n := log.count("recovered"); n == 0 {
			w.t.Error("the log does not say that all is well again")
		}
		w.wantSound("tick")
	})
}

func TestTroubleIsToldOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		x := &trouble{log: slog.New(slog.NewTextHandler(&log, nil)), msg: "a test"}
		for range 300 {
			x.record(t.Context(), errors.New("away"))
			after(time.Second)
		}
		if n := log.count("is failing"); n != 5 {
			t.Errorf("it was told %d times in five minutes, want 5", n)
		}
		x.record(t.Context(), nil)
		x.record(t.Context(), nil)
		if n := log.count("recovered"); n != 1 {
			t.Errorf("the end was told %d times", n)
		}
	})
}

func TestClockKnowsWhetherItIsSteady(t *testing.T) {
	t.Parallel()
	type answer struct{ at, took, says time.Duration }
	for _, tc := range []struct {
		name    string
		answers []answer
		want    time.Duration // for how long it was steady at the end
	}{
		{"steady", []answer{{0, 0, 0}, {10, 0, 10}, {20, 0, 20}}, 20},
		{"slow, but steady", []answer{{0, 0, 0}, {10, 1, 11}, {20, 1, 20}}, 21},
		{"set forward", []answer{{0, 0, 0}, {10, 0, 10}, {20, 0, 3620}, {25, 0, 3625}}, 5},
		{"set back", []answer{{0, 0, 0}, {10, 0, 10}, {20, 0, -3580}, {27, 0, -3573}}, 7},
		{"an answer that took long says little", []answer{{0, 0, 0}, {10, 30, 10}, {50, 0, 50}, {53, 0, 53}}, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := clock{tolerance: time.Second}
			for _, a := range tc.answers {
				c.set(epoch.Add(a.says*time.Second), epoch.Add(a.at*time.Second), epoch.Add((a.at+a.took)*time.Second))
			}
			if !c.steady(tc.want*time.Second) || c.steady((tc.want+1)*time.Second) {
				t.Errorf("it was not steady for just %d s", tc.want)
			}
		})
	}
}
