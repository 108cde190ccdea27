package store

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// AddEvents stores events of apps.
func (s *Store) AddEvents(ctx context.Context, events []AppEvent) error {
	if len(events) == 0 {
		return nil
	}
	return s.db.InTx(ctx, "add events of apps", func(ctx context.Context, t *database.Tx) error {
		return s.addEvents(ctx, t, events)
	})
}

func (s *Store) addEvents(ctx context.Context, t *database.Tx, events []AppEvent) error {
	return database.Chunks(events, func(events []AppEvent) error {
		q := s.db.Query(`INSERT INTO schedule_events (app, kind, period_start, period_to, count, reason, at) VALUES `)
		for i, e := range events {
			if i > 0 {
				q.Add(", ")
			}
			if e.PeriodTo.IsZero() {
				e.PeriodTo = e.PeriodStart
			}
			q.Add("(?, ?, ?, ?, ?, ?, {now})", e.App, e.Kind, e.PeriodStart.UnixMicro(), e.PeriodTo.UnixMicro(), max(e.Count, 1), database.CleanReason(e.Reason))
		}
		_, err := q.Exec(ctx, t)
		return err
	})
}

const eventColumns = "id, app, kind, period_start, period_to, count, reason, at"

func (s *Store) events(ctx context.Context, op string, q *database.Query) ([]AppEvent, error) {
	var out []AppEvent
	err := s.db.Do(ctx, op, func(ctx context.Context) error {
		out = nil
		return q.Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
			var e AppEvent
			var start, to, at int64
			err := scan(&e.ID, &e.App, &e.Kind, &start, &to, &e.Count, &e.Reason, &at)
			e.PeriodStart, e.PeriodTo, e.At = database.FromMicros(start), database.FromMicros(to), database.FromMicros(at)
			out = append(out, e)
			return err
		})
	})
	return out, err
}

// Events returns the events of an app, or of all if it is "", after the one with
// that ID, oldest first.
func (s *Store) Events(ctx context.Context, app string, sinceID uint64, limit int) ([]AppEvent, error) {
	q := s.db.Query("SELECT "+eventColumns+" FROM schedule_events WHERE id > ?", sinceID)
	if app != "" {
		q = s.db.Query("SELECT "+eventColumns+" FROM schedule_events{index schedule_events_app} WHERE app = ? AND id > ?", app, sinceID)
	}
	return s.events(ctx, "events of apps", q.Add(" ORDER BY id LIMIT ?", limit))
}

// SkippedIn returns the events about skipped periods of an app of which one or more
// start from from on and before to.
func (s *Store) SkippedIn(ctx context.Context, app string, from, to time.Time) ([]AppEvent, error) {
	return s.events(ctx, "skipped periods of app "+app, s.db.Query("SELECT "+eventColumns+` FROM schedule_events{index schedule_events_kind}
		WHERE app = ? AND kind = ? AND period_start < ? AND period_to >= ?
		ORDER BY period_start, id`,
		app, proto.AppSkipped, to.UnixMicro(), from.UnixMicro()))
}
