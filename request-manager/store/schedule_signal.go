package store

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/treadle-run/treadle/proto"
)

// errMadeMeanwhile has a transaction done again.
var errMadeMeanwhile = errors.New("another member made it just now")

// Signals returns signals to be evaluated, oldest first.
func (s *Store) Signals(ctx context.Context, limit int) ([]Signal, error) {
	var out []Signal
	err := s.do(ctx, "signals", func(ctx context.Context, _ int) error {
		out = nil
		return s.q(`SELECT app, period_start, count FROM schedule_signals{index schedule_signals_created}
			ORDER BY created_at LIMIT ?`,
			limit).rows(ctx, s.read, func(scan func(...any) error) error {
			var sig Signal
			var start int64
			err := scan(&sig.App, &start, &sig.Count)
			sig.PeriodStart = fromMicros(start)
			out = append(out, sig)
			return err
		})
	})
	return out, err
}

// AddSignals gives signals.
func (s *Store) AddSignals(ctx context.Context, list []Signal) error {
	if len(list) == 0 {
		return nil
	}
	return s.inTx(ctx, "add signals", func(ctx context.Context, t *tx) error { return t.addSignals(ctx, list) })
}

// addSignals writes the rows in a fixed order. Two transactions that give the same
// signal write the same row, so that the later one is seen by who evaluates the
// earlier one, in a cluster as well.
func (t *tx) addSignals(ctx context.Context, list []Signal) error {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Signal) int {
		return cmp.Or(strings.Compare(a.App, b.App), a.PeriodStart.Compare(b.PeriodStart))
	})
	list = slices.CompactFunc(list, func(a, b Signal) bool { return a.App == b.App && a.PeriodStart.Equal(b.PeriodStart) })
	return chunks(list, func(list []Signal) error {
		q := t.s.q("INSERT INTO schedule_signals (app, period_start, count, created_at) VALUES ")
		for i, sig := range list {
			if i > 0 {
				q.add(", ")
			}
			// The count starts anywhere: a signal that is given again after it was settled
			// is not the one that somebody still evaluates.
			q.add("(?, ?, ?, {now})", sig.App, sig.PeriodStart.UnixMicro(), 1+rand.Uint64N(1<<62))
		}
		_, err := q.add("{upsert}count = schedule_signals.count + 1").exec(ctx, t)
		return err
	})
}

// SettleSignal takes a signal away that was evaluated, if it was not given again
// meanwhile. If n is not nil the period is complete, and its instance is made, unless
// there is one, live or archived. It reports whether it made it.
func (s *Store) SettleSignal(ctx context.Context, sig Signal, n *NewInstance) (made bool, err error) {
	for range againTries {
		err = s.inTx(ctx, "settle signal of app "+sig.App, func(ctx context.Context, t *tx) error {
			made = false
			if n != nil {
				var err error
				if made, err = t.makeOnce(ctx, sig.App, n); err != nil {
					return err
				}
			}
			_, err := s.q(`DELETE FROM schedule_signals WHERE app = ? AND period_start = ? AND count = ?`,
				sig.App, sig.PeriodStart.UnixMicro(), sig.Count).exec(ctx, t)
			return err
		})
		if !errors.Is(err, errMadeMeanwhile) && (err == nil || s.dialect.classify(err) != classDuplicate) {
			return made, err
		}
	}
	return made, err
}

// makeOnce makes the instance of a period unless there is one. All who make one write
// the app's row first.
func (t *tx) makeOnce(ctx context.Context, app string, n *NewInstance) (made bool, err error) {
	there, err := t.hasInstance(ctx, app, n.PeriodStart.UnixMicro())
	if there || err != nil {
		return false, err
	}
	err = t.s.q(`UPDATE schedule_apps SET last_number = last_number + 1 WHERE name = ? AND deleted_at IS NULL`,
		app).execOne(ctx, t)
	if errors.Is(err, ErrNotUpdated) {
		return false, nil // it is deleted: nobody waits for it
	}
	if err != nil {
		return false, err
	}
	there, err = t.hasInstance(ctx, app, n.PeriodStart.UnixMicro())
	if err != nil {
		return false, err
	}
	if there {
		return false, errMadeMeanwhile
	}
	return true, t.insertInstance(ctx, app, n)
}

// hasInstance reports whether an instance of the period is live or has run.
func (t *tx) hasInstance(ctx context.Context, app string, start int64) (bool, error) {
	var n int
	err := t.s.q(`SELECT (SELECT COUNT(*) FROM schedule_instances WHERE app = ? AND period_start = ?)
		+ (SELECT COUNT(*) FROM schedule_archive{index schedule_archive_period} WHERE app = ? AND period_start = ?
		AND NOT (state = ? AND started_at IS NULL))`,
		app, start, app, start, proto.InstanceFailed).row(ctx, t, &n)
	return n > 0, err
}
