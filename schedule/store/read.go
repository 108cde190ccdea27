package store

import (
	"context"
	"slices"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// PeriodInstances returns the instances, live and archived, of the periods of an app
// that start from from on and before to, by period and run, the first limit of them.
// They have neither Conf nor Result.
func (s *Store) PeriodInstances(ctx context.Context, app string, from, to time.Time, limit int) ([]proto.Instance, error) {
	var out []proto.Instance
	err := s.db.Do(ctx, "instances of app "+app, func(ctx context.Context) error {
		// First the live ones: what ends in between is there twice, not never.
		live, err := instancesOf(ctx, s.db.Query("SELECT "+liveLight+` FROM schedule_instances
			WHERE app = ? AND period_start >= ? AND period_start < ? ORDER BY period_start
			LIMIT ?`,
			app, from.UnixMicro(), to.UnixMicro(), limit), s.db.Reader)
		if err != nil {
			return err
		}
		done, err := instancesOf(ctx, s.db.Query("SELECT "+archiveLight+` FROM schedule_archive{index schedule_archive_period}
			WHERE app = ? AND period_start >= ? AND period_start < ?
			ORDER BY period_start, number LIMIT ?`,
			app, from.UnixMicro(), to.UnixMicro(), limit), s.db.Reader)
		out = merge(live, done)
		out = out[:min(len(out), limit)]
		return err
	})
	return out, err
}

// merge puts instances of an app in the order of period and number. One that is both
// live and archived is archived.
func merge(live, done []proto.Instance) []proto.Instance {
	ended := make(map[uint64]bool, len(done))
	for _, in := range done {
		ended[in.Number] = true
	}
	out := done
	for _, in := range live {
		if !ended[in.Number] {
			out = append(out, in)
		}
	}
	slices.SortFunc(out, func(a, b proto.Instance) int {
		if c := a.PeriodStart.Compare(b.PeriodStart); c != 0 {
			return c
		}
		return int(a.Number) - int(b.Number)
	})
	return out
}

// SucceededCount returns how many of the periods of an app that start from from on
// and before to have an instance that SUCCEEDED.
func (s *Store) SucceededCount(ctx context.Context, app string, from, to time.Time) (int, error) {
	var n int
	err := s.db.Do(ctx, "periods of app "+app, func(ctx context.Context) error {
		return s.db.Query(`SELECT COUNT(DISTINCT period_start) FROM schedule_archive{index schedule_archive_period}
			WHERE app = ? AND period_start >= ? AND period_start < ? AND state = ?`,
			app, from.UnixMicro(), to.UnixMicro(), proto.InstanceSucceeded).Row(ctx, s.db.Reader, &n)
	})
	return n, err
}

// SucceededStarts returns the starts of these periods, at most limit, in order.
func (s *Store) SucceededStarts(ctx context.Context, app string, from, to time.Time, limit int) ([]time.Time, error) {
	var out []time.Time
	err := s.db.Do(ctx, "periods of app "+app, func(ctx context.Context) error {
		out = nil
		return s.db.Query(`SELECT DISTINCT period_start FROM schedule_archive{index schedule_archive_period}
			WHERE app = ? AND period_start >= ? AND period_start < ? AND state = ? ORDER BY period_start
			LIMIT ?`,
			app, from.UnixMicro(), to.UnixMicro(), proto.InstanceSucceeded, limit).
			Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
				var start int64
				err := scan(&start)
				out = append(out, database.FromMicros(start))
				return err
			})
	})
	return out, err
}

// Succeeded reports whether an instance of the app's period that starts then has
// SUCCEEDED.
func (s *Store) Succeeded(ctx context.Context, app string, start time.Time) (bool, error) {
	var done bool
	err := s.db.Do(ctx, "period of app "+app, func(ctx context.Context) error {
		var err error
		done, err = s.succeeded(ctx, s.db.Reader, app, start.UnixMicro())
		return err
	})
	return done, err
}

func (s *Store) succeeded(ctx context.Context, db database.Querier, app string, start int64) (bool, error) {
	var n int
	err := s.db.Query(`SELECT COUNT(*) FROM schedule_archive{index schedule_archive_period}
		WHERE app = ? AND period_start = ? AND state = ?`,
		app, start, proto.InstanceSucceeded).Row(ctx, db, &n)
	return n > 0, err
}

// SucceededInstances returns, of each period of an app that starts from from on and
// before to, the instance that SUCCEEDED last, by period, with Conf and Result.
func (s *Store) SucceededInstances(ctx context.Context, app string, from, to time.Time, limit int) ([]proto.Instance, error) {
	var out []proto.Instance
	err := s.db.Do(ctx, "results of app "+app, func(ctx context.Context) error {
		var err error
		out, err = instancesOf(ctx, s.succeededQuery(app, from, to, limit), s.db.Reader)
		return err
	})
	return out, err
}

func (s *Store) succeededQuery(app string, from, to time.Time, limit int) *database.Query {
	return s.db.Query("SELECT "+archiveFull+` FROM schedule_archive a{index schedule_archive_period}
		WHERE app = ? AND period_start >= ? AND period_start < ? AND state = ?
		AND NOT EXISTS (SELECT 1 FROM schedule_archive x{index schedule_archive_period}
			WHERE x.app = a.app AND x.period_start = a.period_start AND x.number > a.number AND x.state = a.state)
		ORDER BY period_start, number LIMIT ?`,
		app, from.UnixMicro(), to.UnixMicro(), proto.InstanceSucceeded, limit)
}

// LastInstance returns the newest instance of an app that has ended; ErrNotFound if
// none has.
func (s *Store) LastInstance(ctx context.Context, app string) (proto.Instance, error) {
	var out proto.Instance
	err := s.db.Do(ctx, "last instance of app "+app, func(ctx context.Context) error {
		var err error
		out, err = instanceOf(ctx, s.db.Query("SELECT "+archiveFull+` FROM schedule_archive{index schedule_archive_app}
			WHERE app = ? ORDER BY finished_at DESC, number DESC LIMIT 1`,
			app), s.db.Reader)
		return err
	})
	return out, err
}
