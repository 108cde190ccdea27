package audit

import (
	"context"
	"database/sql"
	"time"

	"github.com/treadle-run/treadle/test/torture"
)

// Now returns the time by the clock of the database.
func (a *Audit) Now(ctx context.Context) (time.Time, error) {
	if !a.cfg.MySQL {
		return time.Now(), nil
	}
	var us int64
	err := a.cfg.DB.QueryRowContext(ctx, "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)").Scan(&us)
	return time.UnixMicro(us), err
}

// Succeeded counts, by app, the instances that started after a time and SUCCEEDED.
func (a *Audit) Succeeded(ctx context.Context, after time.Time) (map[string]int, error) {
	out := map[string]int{}
	from, to := a.between()
	err := a.snapshot(ctx, func(tx *sql.Tx) error {
		return each(ctx, tx, func(r *sql.Rows) error {
			var app string
			var n int
			err := r.Scan(&app, &n)
			out[app] = n
			return err
		}, `SELECT app, COUNT(*) FROM schedule_archive WHERE app >= ? AND app < ? AND state = 5 AND finished_at >= ? AND started_at > ? GROUP BY app`,
			from, to, after.UnixMicro(), after.UnixMicro())
	})
	return out, err
}

// Unrest counts what is under way: instances that have started and not ended, and
// signals to dependents that nobody has looked at.
func (a *Audit) Unrest(ctx context.Context) (n int, err error) {
	from, to := a.between()
	err = a.cfg.DB.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM schedule_instances WHERE app >= ? AND app < ? AND state <> 1)
		+ (SELECT COUNT(*) FROM schedule_signals WHERE app >= ? AND app < ?)`, from, to, from, to).Scan(&n)
	return n, err
}

// Figures are what a run did.
type Figures struct {
	Succeeded  int `json:"succeeded"`
	Failed     int `json:"failed"`
	Skipped    int `json:"skipped"` // periods
	Undos      int `json:"undos"`   // artifacts that were deleted, or kept from being made
	UndoFailed int `json:"undoFailed"`
	Takeovers  int `json:"takeovers"`
	// Lateness is from when instances were due to when they started, of all, whatever
	// they had to wait for.
	Lateness torture.Times `json:"lateness"`
}

// Figures reads them.
func (a *Audit) Figures(ctx context.Context) (f Figures, err error) {
	from, to := a.between()
	for _, q := range []struct {
		into  *int
		query string
	}{
		{&f.Succeeded, `SELECT COUNT(*) FROM schedule_archive WHERE app >= ? AND app < ? AND state = 5`},
		{&f.Failed, `SELECT COUNT(*) FROM schedule_archive WHERE app >= ? AND app < ? AND state = 6`},
		{&f.Skipped, `SELECT COALESCE(SUM(count), 0) FROM schedule_events WHERE app >= ? AND app < ? AND kind = 'skipped'`},
		{&f.Undos, `SELECT COUNT(*) FROM ` + a.cfg.Artifacts + ` WHERE app >= ? AND app < ? AND present = 0`},
		{&f.UndoFailed, `SELECT COUNT(*) FROM schedule_events WHERE app >= ? AND app < ? AND kind = 'undo_failed'`},
		{&f.Takeovers, `SELECT COUNT(*) FROM schedule_events WHERE app >= ? AND app < ? AND kind = 'stolen'`},
	} {
		if err := a.cfg.DB.QueryRowContext(ctx, q.query, from, to).Scan(q.into); err != nil {
			return f, err
		}
	}
	var late []time.Duration
	err = a.snapshot(ctx, func(tx *sql.Tx) error {
		return each(ctx, tx, func(r *sql.Rows) error {
			var us int64
			err := r.Scan(&us)
			late = append(late, time.Duration(us)*time.Microsecond)
			return err
		}, `SELECT started_at - due_at FROM schedule_archive WHERE app >= ? AND app < ? AND started_at IS NOT NULL`, from, to)
	})
	f.Lateness = torture.InShort(late)
	return f, err
}
