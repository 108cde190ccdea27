package store

import (
	"context"
	"errors"
	"fmt"

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
	return s.inTx(ctx, op, func(ctx context.Context, t *tx) error {
		if t.try > 1 {
			if done, err := t.finishedBefore(ctx, f); done || err != nil {
				return err
			}
		}
		if err := t.freeSlot(ctx, f); err != nil {
			return err
		}
		if err := t.archiveOne(ctx, f); err != nil {
			return err
		}
		if err := t.wakeSibling(ctx, f.Spec.App); err != nil {
			return err
		}
		if f.Next != nil {
			if err := t.insertNext(ctx, f.Spec.App, f.Next); err != nil {
				return err
			}
		}
		if err := t.addSignals(ctx, f.Signals); err != nil {
			return err
		}
		return t.addEvents(ctx, f.Events)
	})
}

// finishedBefore reports whether an earlier try of the same call went through.
func (t *tx) finishedBefore(ctx context.Context, f Finish) (bool, error) {
	after := f.Spec
	after.Sequence++
	var n int
	err := t.s.q(`SELECT COUNT(*) FROM schedule_archive
		WHERE app = ? AND number = ? AND sequence_number = ? AND COALESCE(member, '') = ? AND state = ?`,
		after.App, after.Number, after.Sequence, after.Member, f.State).row(ctx, t, &n)
	return n > 0, err
}

// freeSlot gives the slot back and counts the next number, in one write of the app's
// row: who else makes instances of the app waits for it, or fails.
func (t *tx) freeSlot(ctx context.Context, f Finish) error {
	more := 0
	if f.Next != nil {
		more = 1
	}
	q := t.s.q(`UPDATE schedule_apps SET active_number = NULLIF(active_number, ?), last_number = last_number + ?
		WHERE name = ?`, f.Spec.Number, more, f.Spec.App)
	if f.Generation != 0 {
		q.add(" AND generation = ?", f.Generation)
	}
	err := q.execOne(ctx, t)
	if errors.Is(err, ErrNotUpdated) {
		return ErrStaleApp
	}
	return err
}

// archiveOne moves the instance to the archive.
func (t *tx) archiveOne(ctx context.Context, f Finish) error {
	q := t.s.q("").archive(f.State, nullJSON(f.Result))
	if f.Reason == "" && f.State == proto.InstanceFailed {
		q.add("reason, {now}")
	} else {
		q.add("?, {now}", cleanReason(f.Reason))
	}
	q.add(` FROM schedule_instances WHERE app = ? AND number = ? AND sequence_number = ? AND COALESCE(member, '') = ?`,
		f.Spec.App, f.Spec.Number, f.Spec.Sequence, f.Spec.Member)
	if f.State == proto.InstanceSucceeded {
		q.add(" AND state = ?", proto.InstanceRunning)
	}
	if err := q.execOne(ctx, t); err != nil {
		if t.s.dialect.classify(err) == classDuplicate {
			return ErrNotUpdated // somebody else was faster
		}
		return err
	}
	return t.s.q(`DELETE FROM schedule_instances WHERE app = ? AND number = ? AND sequence_number = ?
		AND COALESCE(member, '') = ?`,
		f.Spec.App, f.Spec.Number, f.Spec.Sequence, f.Spec.Member).execOne(ctx, t)
}

// archive starts an INSERT of instances into the archive: their reason, finish time
// and the FROM follow.
func (q *query) archive(state proto.InstanceState, result any) *query {
	const same = `app, number, name, period_start, period_end, run, member, recurring, due_at, host, created_at,
		started_at, timeout_at, request_id, undo_request_id, undo_tries, conf`
	return q.add("INSERT INTO schedule_archive ("+same+`, sequence_number, state, result, reason, finished_at) SELECT `+same+", sequence_number + 1, ?, ?, ", state, result)
}

// wakeSibling has the first instance looked at that waits for the slot; what the
// calendar makes goes before what was asked for.
func (t *tx) wakeSibling(ctx context.Context, app string) error {
	_, err := t.s.q(`UPDATE schedule_instances SET sequence_number = sequence_number + 1, held = 0, fetch_at = {now}
		WHERE app = ? AND held = 1 AND number = (SELECT n FROM (SELECT number AS n FROM schedule_instances
			WHERE app = ? AND held = 1 ORDER BY recurring DESC, period_start LIMIT 1) x)`, app, app).exec(ctx, t)
	return err
}
