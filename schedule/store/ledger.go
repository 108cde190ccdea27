package store

import (
	"context"
	"slices"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// PeriodStarts returns when the periods of an app start of which there is an instance,
// live or archived: of those that start from from on and before to the newest limit,
// newest first, each once.
func (s *Store) PeriodStarts(ctx context.Context, app string, from, to time.Time, limit int) ([]time.Time, error) {
	var out []time.Time
	err := s.db.Do(ctx, "periods of app "+app, func(ctx context.Context) error {
		out = nil
		// First the live ones: what ends in between is there twice, not never.
		for _, archived := range []bool{false, true} {
			err := s.startsQuery(archived, app, from, to, limit).Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
				var us int64
				err := scan(&us)
				out = append(out, database.FromMicros(us))
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortFunc(out, func(a, b time.Time) int { return b.Compare(a) })
	out = slices.CompactFunc(out, time.Time.Equal)
	return out[:min(len(out), limit)], err
}

func (s *Store) startsQuery(archived bool, app string, from, to time.Time, limit int) *database.Query {
	q := s.db.Query("SELECT period_start FROM schedule_instances{index schedule_instances_period}")
	if archived {
		q = s.db.Query("SELECT DISTINCT period_start FROM schedule_archive{index schedule_archive_period}")
	}
	return q.Add(` WHERE app = ? AND period_start >= ? AND period_start < ? ORDER BY period_start DESC LIMIT ?`,
		app, from.UnixMicro(), to.UnixMicro(), limit)
}

// LastSkipped returns the events about skipped periods of an app of which one or more
// start from from on and before to: the newest limit, newest first.
func (s *Store) LastSkipped(ctx context.Context, app string, from, to time.Time, limit int) ([]AppEvent, error) {
	return s.events(ctx, "skipped periods of app "+app, s.db.Query("SELECT "+eventColumns+` FROM schedule_events{index schedule_events_kind}
		WHERE app = ? AND kind = ? AND period_start < ? AND period_to >= ?
		ORDER BY period_start DESC, id DESC LIMIT ?`,
		app, proto.AppSkipped, to.UnixMicro(), from.UnixMicro(), limit))
}

// Holders returns the instances of an app that may hold up others: those that were
// started and have not ended, and the one that comes next; the first limit by period.
// FetchAt is zero for one that is under work, or of an app that is paused.
func (s *Store) Holders(ctx context.Context, app string, limit int) ([]DueInstance, error) {
	var list []DueInstance
	err := s.db.Do(ctx, "instances of app "+app, func(ctx context.Context) error {
		var err error
		list, err = dueOf(ctx, s.holdersQuery(app, limit), s.db.Reader)
		return err
	})
	for i := range list {
		if list[i].FetchAt.UnixMicro() == 0 {
			list[i].FetchAt = time.Time{}
		}
	}
	return list, err
}

func (s *Store) holdersQuery(app string, limit int) *database.Query {
	return s.db.Query("SELECT "+liveLight+`, COALESCE(fetch_at, 0) FROM schedule_instances{index schedule_instances_period}
		WHERE app = ? AND (state <> ? OR recurring = 1) ORDER BY period_start LIMIT ?`,
		app, proto.InstanceQueued, limit)
}
