package store

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// errMadeMeanwhile has a transaction done again.
var errMadeMeanwhile = errors.New("another member made it just now")

// Signals returns signals to be evaluated, oldest first.
func (s *Store) Signals(ctx context.Context, limit int) ([]Signal, error) {
	var out []Signal
	err := s.db.Do(ctx, "signals", func(ctx context.Context) error {
		out = nil
		return s.db.Query(`SELECT app, period_start, count FROM schedule_signals{index schedule_signals_created}
			ORDER BY created_at LIMIT ?`,
			limit).Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
			var sig Signal
			var start int64
			err := scan(&sig.App, &start, &sig.Count)
			sig.PeriodStart = database.FromMicros(start)
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
	return s.db.InTx(ctx, "add signals", func(ctx context.Context, t *database.Tx) error { return s.addSignals(ctx, t, list) })
}

// addSignals writes the rows in a fixed order. Two transactions that give the same
// signal write the same row, so that the later one is seen by who evaluates the
// earlier one, in a cluster as well.
func (s *Store) addSignals(ctx context.Context, t *database.Tx, list []Signal) error {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Signal) int {
		return cmp.Or(strings.Compare(a.App, b.App), a.PeriodStart.Compare(b.PeriodStart))
	})
	list = slices.CompactFunc(list, func(a, b Signal) bool { return a.App == b.App && a.PeriodStart.Equal(b.PeriodStart) })
	return database.Chunks(list, func(list []Signal) error {
		q := s.db.Query("INSERT INTO schedule_signals (app, period_start, count, created_at) VALUES ")
		for i, sig := range list {
			if i > 0 {
				q.Add(", ")
			}
			// The count starts anywhere: a signal that is given again after it was settled
			// is not the one that somebody still evaluates.
			q.Add("(?, ?, ?, {now})", sig.App, sig.PeriodStart.UnixMicro(), 1+rand.Uint64N(1<<62))
		}
		_, err := q.Add("{upsert}count = schedule_signals.count + 1").Exec(ctx, t)
		return err
	})
}

// signalTries is how often a signal is looked at that another member makes an instance of.
const signalTries = 20

// SettleSignal takes a signal away that was evaluated, if it was not given again
// meanwhile. If n is not nil the period is complete, and its instance is made, unless
// there is one, live or archived. It reports whether it made it.
func (s *Store) SettleSignal(ctx context.Context, sig Signal, n *NewInstance) (made bool, err error) {
	for range signalTries {
		err = s.db.InTxOnce(ctx, "settle signal of app "+sig.App, appToken(sig.App), func(ctx context.Context, t *database.Tx) error {
			made = false
			if n != nil {
				var err error
				if made, err = s.makeOnce(ctx, t, sig.App, n); err != nil {
					return err
				}
			}
			_, err := s.db.Query(`DELETE FROM schedule_signals WHERE app = ? AND period_start = ? AND count = ?`,
				sig.App, sig.PeriodStart.UnixMicro(), sig.Count).Exec(ctx, t)
			return err
		})
		if !errors.Is(err, errMadeMeanwhile) && (err == nil || s.db.Dialect.Classify(err) != database.ClassDuplicate) {
			return made, err
		}
	}
	return made, err
}

// makeOnce makes the instance of a period unless there is one. All who make one write
// the app's row first.
func (s *Store) makeOnce(ctx context.Context, t *database.Tx, app string, n *NewInstance) (made bool, err error) {
	there, err := s.hasInstance(ctx, t, app, n.PeriodStart.UnixMicro())
	if there || err != nil {
		return false, err
	}
	err = s.db.Query(`UPDATE schedule_apps SET change_token = ?, last_number = last_number + 1 WHERE name = ? AND deleted_at IS NULL`,
		t.Token, app).ExecOne(ctx, t)
	if errors.Is(err, ErrNotUpdated) {
		return false, nil // it is deleted: nobody waits for it
	}
	if err != nil {
		return false, err
	}
	there, err = s.hasInstance(ctx, t, app, n.PeriodStart.UnixMicro())
	if err != nil {
		return false, err
	}
	if there {
		return false, errMadeMeanwhile
	}
	return true, s.insertInstance(ctx, t, app, n)
}

// hasInstance reports whether an instance of the period is live or has run.
func (s *Store) hasInstance(ctx context.Context, t *database.Tx, app string, start int64) (bool, error) {
	var n int
	err := s.db.Query(`SELECT (SELECT COUNT(*) FROM schedule_instances WHERE app = ? AND period_start = ?)
		+ (SELECT COUNT(*) FROM schedule_archive{index schedule_archive_period} WHERE app = ? AND period_start = ?
		AND NOT (state = ? AND started_at IS NULL))`,
		app, start, app, start, proto.InstanceFailed).Row(ctx, t, &n)
	return n > 0, err
}
