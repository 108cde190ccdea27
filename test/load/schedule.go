package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/store"
	"github.com/treadle-run/treadle/test/poll"
)

// due is W8: many apps whose instances are due at once, each a request of one no-op;
// first all in the same moment, then spread over a minute.
func due(ctx context.Context, o options, r *report) error {
	s, err := start(ctx, o, specsDir)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, c := range []struct {
		name, prefix string
		jitter       time.Duration
	}{
		{"all in the same moment", "moment-", 0},
		{"spread over a minute by jitter", "minute-", time.Minute},
	} {
		if err := s.due(ctx, r, c.name, c.prefix, o.apps, c.jitter); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

func (s *system) due(ctx context.Context, r *report, name, prefix string, apps int, jitter time.Duration) error {
	began := time.Now()
	// Late enough for all to be there in time.
	at := began.Add(90 * time.Second).Truncate(time.Minute)
	cron := fmt.Sprintf("%d %d %d %d *", at.UTC().Minute(), at.UTC().Hour(), at.UTC().Day(), at.UTC().Month())
	if err := s.putApps(ctx, apps, func(i int) proto.App {
		return proto.App{Name: fmt.Sprintf("%s%05d", prefix, i), Request: "nothing", Cron: cron, Jitter: proto.Seconds(jitter)}
	}); err != nil {
		return err
	}
	r.row(name+": apps", "%d made in %s, %s before they are due", apps, time.Since(began).Round(time.Millisecond), time.Until(at).Round(time.Second))
	if time.Until(at) < 2*time.Second {
		return fmt.Errorf("this machine is too slow: the apps were there %s before they are due", time.Until(at))
	}
	if err := wait.For(ctx, time.Until(at)-time.Second); err != nil {
		return err
	}
	before := s.usage()
	ends, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	err := poll.Until(ends, 200*time.Millisecond, func() (bool, error) {
		n, err := s.count(ends, "SELECT COUNT(*) FROM schedule_archive WHERE app LIKE '"+prefix+"%'")
		return n >= apps, err
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, s.logs())
	}
	failed, err := s.count(ctx, "SELECT COUNT(*) FROM schedule_archive WHERE state <> 5")
	if err != nil {
		return err
	}
	r.row(name+": CPU", "%s; %d failed", s.usage().per(before, apps), failed)
	for _, c := range []struct{ what, query string }{
		{"due to start", "SELECT started_at - due_at FROM schedule_archive WHERE app LIKE '" + prefix + "%'"},
		{"due to the start of its request", "SELECT q.started_at - a.due_at FROM schedule_archive a JOIN requests q ON q.request_id = a.request_id WHERE a.app LIKE '" + prefix + "%'"},
		{"due to archived", "SELECT finished_at - due_at FROM schedule_archive WHERE app LIKE '" + prefix + "%'"},
	} {
		ds, err := s.micros(ctx, c.query)
		if err != nil {
			return err
		}
		r.row(name+": "+c.what, "%s", quantilesOf(ds))
	}
	return nil
}

// putApps stores apps as a manager does when it reads its specs.
func (s *system) putApps(ctx context.Context, n int, app func(i int) proto.App) error {
	cfg := database.Config{SQLitePath: filepath.Join(s.dir, "treadle.db")}
	if name, dsn, _ := strings.Cut(s.dbEnv, "="); name == "TREADLE_MYSQL_DSN" {
		cfg = database.Config{MySQLDSN: dsn}
	}
	db, err := database.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // what counts is committed
	const batch = 1000
	now := time.Now()
	for i := 0; i < n; i += batch {
		var puts []store.AppPut
		for j := i; j < min(i+batch, n); j++ {
			put, err := appPut(app(j), now)
			if err != nil {
				return err
			}
			puts = append(puts, put)
		}
		if _, err := store.New(db).PutApps(ctx, puts); err != nil {
			return err
		}
	}
	return nil
}

func appPut(a proto.App, now time.Time) (store.AppPut, error) {
	c, err := calendar.New(a)
	if err != nil {
		return store.AppPut{}, err
	}
	o, ok := c.Next(now)
	if !ok {
		return store.AppPut{}, fmt.Errorf("%s never starts", a.Name)
	}
	return store.AppPut{App: a, Source: proto.AppFromAPI, Since: now, First: &store.NewInstance{
		Name: c.Name(o.Start, a.Name), PeriodStart: o.Start, PeriodEnd: o.End, Due: o.Start.Add(c.Jitter(a, o.Start)), Recurring: true,
	}}, nil
}

// idle is W9: what an engine costs that has nothing to do.
func idle(ctx context.Context, o options, r *report) error {
	s, err := start(ctx, o, specsDir)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, apps := range []int{0, o.idleApps} {
		began := time.Now()
		if err := s.putApps(ctx, apps, func(i int) proto.App {
			return proto.App{Name: fmt.Sprintf("idle-%06d", i), Request: "nothing", Starts: "yearly"}
		}); err != nil {
			return err
		}
		made := time.Since(began)
		if err := s.awaitQuiet(ctx, s.rm); err != nil {
			return err
		}
		const length = time.Minute
		before := s.usage()
		if err := wait.For(ctx, length); err != nil {
			return err
		}
		after := s.usage()
		share := func(a, b time.Duration) float64 { return 100 * (a - b).Seconds() / length.Seconds() }
		r.row(fmt.Sprintf("%d apps", apps), "made in %s; %.1f statements/s; CPU of one core: manager %.2f %%, MariaDB %.2f %%; memory of the manager %d MiB",
			made.Round(100*time.Millisecond), float64(after.statements-before.statements)/length.Seconds(),
			share(after.rm, before.rm), share(after.db, before.db), status(s.rm, "VmRSS")>>20)
	}
	return nil
}

func (s *system) count(ctx context.Context, query string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}

// micros reads durations that the database has in microseconds.
func (s *system) micros(ctx context.Context, query string) (ds []time.Duration, err error) {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var us int64
		if err := rows.Scan(&us); err != nil {
			return nil, err
		}
		ds = append(ds, time.Duration(us)*time.Microsecond)
	}
	return ds, rows.Err()
}
