package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// FinishInstance ends an instance: it moves to the archive, gives the slot of its
// app back, and in the same transaction all that follows from its end is stored. The
// error is ErrNotUpdated if it is no longer what Spec says, ErrStaleApp if the app
// is of another generation.
func (s *Store) FinishInstance(ctx context.Context, f Finish) error {
	if !f.State.Final() {
		return fmt.Errorf("finish instance %d of app %s: %s is not a final state", f.Spec.Number, f.Spec.App, f.State)
	}
	op := fmt.Sprintf("finish instance %d of app %s", f.Spec.Number, f.Spec.App)
	return s.db.InTxOnce(ctx, op, archiveToken(f.Spec), func(ctx context.Context, t *database.Tx) error {
		if err := s.freeSlot(ctx, t, f); err != nil {
			return err
		}
		if err := s.archiveOne(ctx, t, f); err != nil {
			return err
		}
		if err := s.wakeSibling(ctx, t, f.Spec.App); err != nil {
			return err
		}
		if f.Next != nil {
			if err := s.insertNext(ctx, t, f.Spec.App, f.Next); err != nil {
				return err
			}
		}
		if err := s.addSignals(ctx, t, f.Signals); err != nil {
			return err
		}
		return s.addEvents(ctx, t, f.Events)
	})
}

// archiveToken is where the end of an instance leaves its token.
func archiveToken(spec proto.InstanceSpecifier) database.Row {
	return database.RowOf("SELECT change_token FROM schedule_archive WHERE app = ? AND number = ?", spec.App, spec.Number)
}

// freeSlot gives the slot back and counts the next number, in one write of the app's
// row: who else makes instances of the app waits for it, or fails.
func (s *Store) freeSlot(ctx context.Context, t *database.Tx, f Finish) error {
	more := 0
	if f.Next != nil {
		more = 1
	}
	q := s.db.Query(`UPDATE schedule_apps SET active_number = NULLIF(active_number, ?), last_number = last_number + ?
		WHERE name = ?`, f.Spec.Number, more, f.Spec.App)
	if f.Generation != 0 {
		q.Add(" AND generation = ?", f.Generation)
	}
	err := q.ExecOne(ctx, t)
	if errors.Is(err, ErrNotUpdated) {
		return ErrStaleApp
	}
	return err
}

// archiveOne moves the instance to the archive.
func (s *Store) archiveOne(ctx context.Context, t *database.Tx, f Finish) error {
	q := s.db.Query("INSERT INTO schedule_archive ("+archivedColumns+`, sequence_number, change_token, state, result, reason, finished_at)
		SELECT `+archivedColumns+`, sequence_number + 1, ?, ?, ?, CASE WHEN ? THEN reason ELSE ? END, {now} FROM schedule_instances
		WHERE app = ? AND number = ? AND sequence_number = ? AND COALESCE(member, '') = ?`,
		t.Token, f.State, nullJSON(f.Result), f.Reason == "" && f.State == proto.InstanceFailed, database.CleanReason(f.Reason),
		f.Spec.App, f.Spec.Number, f.Spec.Sequence, f.Spec.Member)
	if f.State == proto.InstanceSucceeded {
		q.Add(" AND state = ?", proto.InstanceRunning)
	}
	if err := q.ExecOne(ctx, t); err != nil {
		if s.db.Dialect.Classify(err) == database.ClassDuplicate {
			return ErrNotUpdated // somebody else was faster
		}
		return err
	}
	return s.db.Query(`DELETE FROM schedule_instances WHERE app = ? AND number = ? AND sequence_number = ?
		AND COALESCE(member, '') = ?`,
		f.Spec.App, f.Spec.Number, f.Spec.Sequence, f.Spec.Member).ExecOne(ctx, t)
}

// archivedColumns are those that an instance takes along into the archive as they are.
const archivedColumns = `app, number, name, period_start, period_end, run, member, recurring, due_at, host, created_at,
		started_at, timeout_at, request_id, undo_request_id, undo_tries, conf`

// wakeSibling has the first instance looked at that waits for the slot; what the
// calendar makes goes before what was asked for.
func (s *Store) wakeSibling(ctx context.Context, t *database.Tx, app string) error {
	_, err := s.db.Query(`UPDATE schedule_instances SET sequence_number = sequence_number + 1, held = 0, fetch_at = {now}
		WHERE app = ? AND held = 1 AND number = (SELECT n FROM (SELECT number AS n FROM schedule_instances
			WHERE app = ? AND held = 1 ORDER BY recurring DESC, period_start LIMIT 1) x)`, app, app).Exec(ctx, t)
	return err
}
