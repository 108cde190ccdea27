package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// ClaimInstance assigns an instance to a member, and from then on no other works on it:
// one that is QUEUED becomes RUNNING, one that was started keeps its state. The
// instance returned is as it is then. The error is ErrNotUpdated if it is no longer
// what Spec says, or the member is registered and no longer lives, ErrStaleApp if the app is of another generation, and a
// *SlotTakenError.
func (s *Store) ClaimInstance(ctx context.Context, c Claim) (proto.Instance, error) {
	var out proto.Instance
	op := fmt.Sprintf("claim instance %d of app %s", c.Spec.Number, c.Spec.App)
	if c.Member == "" || len(c.Member) > maxMember {
		return out, fmt.Errorf("%s: %q is not the id of a member", op, c.Member)
	}
	if !c.Slot && c.Next == nil && len(c.Skipped) == 0 {
		return s.claimAlone(ctx, op, c)
	}
	err := s.db.InTxOnce(ctx, op, instanceToken(c.Spec), func(ctx context.Context, t *database.Tx) error {
		if err := s.takeSlot(ctx, t, c); err != nil {
			return err
		}
		if err := s.claimQuery(c, t.Token).ExecOne(ctx, t); err != nil {
			return err
		}
		if c.Next != nil {
			if err := s.insertNext(ctx, t, c.Spec.App, c.Next); err != nil {
				return err
			}
		}
		if err := s.addEvents(ctx, t, c.Skipped); err != nil {
			return err
		}
		var err error
		out, err = s.liveInstance(ctx, t, c.after())
		return err
	})
	return out, err
}

// after is how the instance is named once it is claimed.
func (c Claim) after() proto.InstanceSpecifier {
	return proto.InstanceSpecifier{App: c.Spec.App, Number: c.Spec.Number, Sequence: c.Spec.Sequence + 1, Member: c.Member}
}

// claimAlone is a claim that changes the instance alone: it takes one statement, and
// one that reads.
func (s *Store) claimAlone(ctx context.Context, op string, c Claim) (proto.Instance, error) {
	err := s.db.DoOnce(ctx, op, instanceToken(c.Spec), func(ctx context.Context, token database.Token) error {
		q := s.claimQuery(c, token)
		if c.Generation != 0 {
			q.Add(` AND EXISTS (SELECT 1 FROM schedule_apps a WHERE a.name = ? AND a.generation = ?)`,
				c.Spec.App, c.Generation)
		}
		err := q.ExecOne(ctx, s.db.Writer)
		if !errors.Is(err, ErrNotUpdated) {
			return err
		}
		if e := s.whyNoSlot(ctx, s.db.Writer, c); e != nil {
			return e
		}
		return err
	})
	if err != nil {
		return proto.Instance{}, err
	}
	var out proto.Instance
	err = s.db.Do(ctx, op, func(ctx context.Context) error {
		var err error
		out, err = s.liveInstance(ctx, s.db.Writer, c.after())
		if errors.Is(err, ErrNotFound) {
			return ErrNotUpdated // it was taken over just now
		}
		return err
	})
	return out, err
}

func (s *Store) liveInstance(ctx context.Context, db database.Querier, spec proto.InstanceSpecifier) (proto.Instance, error) {
	return instanceOf(ctx, s.db.Query("SELECT "+liveFull+` FROM schedule_instances
		WHERE app = ? AND number = ? AND sequence_number = ? AND COALESCE(member, '') = ?`,
		spec.App, spec.Number, spec.Sequence, spec.Member), db)
}

// takeSlot takes the slot of the app and counts the next number, as far as the claim
// needs them, and checks the generation.
func (s *Store) takeSlot(ctx context.Context, t *database.Tx, c Claim) error {
	if !c.Slot && c.Next == nil {
		return s.whyNoSlot(ctx, t, c)
	}
	if c.Yields {
		if err := s.goesFirst(ctx, t, c); err != nil {
			return err
		}
	}
	if c.InOrder {
		if err := s.earlierFirst(ctx, t, c); err != nil {
			return err
		}
	}
	q := s.db.Query("UPDATE schedule_apps SET ")
	sep := ""
	if c.Slot {
		q.Add("active_number = ?", c.Spec.Number)
		sep = ", "
	}
	if c.Next != nil {
		q.Add(sep + "last_number = last_number + 1")
	}
	q.Add(" WHERE name = ?", c.Spec.App)
	if c.Slot {
		q.Add(" AND (active_number IS NULL OR active_number = ?)", c.Spec.Number)
	}
	if c.Generation != 0 {
		q.Add(" AND generation = ?", c.Generation)
	}
	err := q.ExecOne(ctx, t)
	if !errors.Is(err, ErrNotUpdated) {
		return err
	}
	err = s.whyNoSlot(ctx, t, c)
	if err == nil {
		return ErrNotUpdated // it was free again just now: the caller looks at it once more
	}
	if _, ok := errors.AsType[*SlotTakenError](err); !ok || c.Next != nil {
		return err
	}
	// One that was started without the slot continues without it.
	var started int
	q = s.db.Query(`SELECT COUNT(*) FROM schedule_instances
		WHERE app = ? AND number = ? AND sequence_number = ? AND COALESCE(member, '') = ? AND state <> ?`,
		c.Spec.App, c.Spec.Number, c.Spec.Sequence, c.Spec.Member, proto.InstanceQueued)
	if e := q.Row(ctx, t, &started); e != nil || started > 0 {
		return e
	}
	return err
}

// whyNoSlot says why the app is not as the claim needs it; nil if it is.
func (s *Store) whyNoSlot(ctx context.Context, db database.Querier, c Claim) error {
	if !c.Slot && c.Generation == 0 {
		return nil
	}
	var generation uint64
	var active sql.Null[uint64]
	err := s.db.Query("SELECT generation, active_number FROM schedule_apps WHERE name = ?", c.Spec.App).Row(ctx, db, &generation, &active)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && c.Generation != 0 && generation != c.Generation:
		return ErrStaleApp
	case err != nil:
		return err
	case c.Slot && active.Valid && active.V != c.Spec.Number:
		return s.slotTaken(ctx, db, c.Spec.App, active.V)
	}
	return nil
}

// slotTaken is the error that says what is known of the instance in front.
func (s *Store) slotTaken(ctx context.Context, db database.Querier, app string, number uint64) error {
	e := &SlotTakenError{Number: number}
	err := s.db.Query(`SELECT name, state, reason, recurring FROM schedule_instances WHERE app = ? AND number = ?`,
		app, number).Row(ctx, db, &e.Name, &e.State, &e.Reason, &e.Recurring)
	if err := ignoreNotFound(err); err != nil {
		return err
	}
	return e
}

// goesFirst is an error if a recurring instance of the app is due: one that is made for
// later, after a failure, is not.
func (s *Store) goesFirst(ctx context.Context, t *database.Tx, c Claim) error {
	var number uint64
	err := s.db.Query(`SELECT number FROM schedule_instances
		WHERE next_of = ? AND number <> ? AND due_at <= {now} AND (held = 1 OR fetch_at <= {now})`,
		c.Spec.App, c.Spec.Number).Row(ctx, t, &number)
	if err != nil {
		return ignoreNotFound(err)
	}
	return s.slotTaken(ctx, t, c.Spec.App, number)
}

// earlierFirst is an error if an instance of an earlier period of the app is due.
func (s *Store) earlierFirst(ctx context.Context, t *database.Tx, c Claim) error {
	var number uint64
	err := s.db.Query(`SELECT number FROM schedule_instances{index schedule_instances_period}
		WHERE app = ? AND period_start < (SELECT period_start FROM schedule_instances WHERE app = ? AND number = ?)
			AND state = ? AND due_at <= {now} AND (held = 1 OR fetch_at <= {now})
		ORDER BY period_start LIMIT 1`,
		c.Spec.App, c.Spec.App, c.Spec.Number, proto.InstanceQueued).Row(ctx, t, &number)
	if err != nil {
		return ignoreNotFound(err)
	}
	return s.slotTaken(ctx, t, c.Spec.App, number)
}

// claimQuery changes the instance's row. MySQL sets columns from left to right, so that
// what depends on the state and the start stands before these. A member that was frozen
// may not know yet that it counts as gone.
func (s *Store) claimQuery(c Claim, token database.Token) *database.Query {
	return s.db.Query(`UPDATE schedule_instances SET change_token = ?, sequence_number = sequence_number + 1, member = ?,
		next_of = NULL, fetch_at = NULL, waits_for = NULL, held = 0,
		reason = CASE WHEN state IN (?, ?) THEN '' ELSE reason END,
		timeout_at = CASE WHEN started_at IS NULL AND ? > 0 THEN {now} + ? ELSE timeout_at END,
		started_at = COALESCE(started_at, {now}), state = CASE WHEN state = ? THEN ? ELSE state END
		WHERE app = ? AND number = ? AND sequence_number = ? AND COALESCE(member, '') = ?
		AND NOT EXISTS (SELECT 1 FROM schedule_members n WHERE n.member_id = ?
			AND (n.gone_at IS NOT NULL OR n.heartbeat_at + n.stale_after < {now}))`,
		token, c.Member, proto.InstanceQueued, proto.InstanceRunning, c.TimeoutAfter.Microseconds(), c.TimeoutAfter.Microseconds(),
		proto.InstanceQueued, proto.InstanceRunning, c.Spec.App, c.Spec.Number, c.Spec.Sequence, c.Spec.Member, c.Member)
}

// ParkInstance releases an instance that waits: nobody works on it until it is
// looked at again. It returns how the instance is named then. The error is
// ErrNotUpdated if it is no longer what spec says.
func (s *Store) ParkInstance(ctx context.Context, spec proto.InstanceSpecifier, p Park) (proto.InstanceSpecifier, error) {
	after := proto.InstanceSpecifier{App: spec.App, Number: spec.Number, Sequence: spec.Sequence + 1}
	op := fmt.Sprintf("park instance %d of app %s", spec.Number, spec.App)
	err := s.db.DoOnce(ctx, op, instanceToken(spec), func(ctx context.Context, token database.Token) error {
		// It is looked at at once if the request that it waits for has ended: since then
		// nobody wakes it.
		return s.db.Query(`UPDATE schedule_instances
			SET change_token = ?, sequence_number = sequence_number + 1, member = NULL, waits_for = ?, reason = ?,
			fetch_at = CASE WHEN EXISTS (SELECT 1 FROM requests r WHERE r.request_id = ? AND r.finished_at IS NOT NULL)
				THEN {now} ELSE {now} + ? END,
			request_id = COALESCE(?, request_id), undo_request_id = CASE WHEN ? THEN ? ELSE undo_request_id END,
			undo_tries = COALESCE(?, undo_tries), state = COALESCE(?, state)
			WHERE app = ? AND number = ? AND sequence_number = ? AND COALESCE(member, '') = ?`,
			token, nullText(p.WaitsFor), database.CleanReason(p.Reason), nullText(p.WaitsFor), p.CheckAfter.Microseconds(),
			nullText(p.RequestID), p.UndoRequestID != "" || p.State == proto.InstanceToUndo, nullText(p.UndoRequestID),
			nullZero(p.UndoTries), nullZero(p.State),
			spec.App, spec.Number, spec.Sequence, spec.Member).ExecOne(ctx, s.db.Writer)
	})
	return after, err
}

// HoldInstance has an instance that is QUEUED looked at again after that time, since
// it cannot start now. The error is ErrNotUpdated if it is no longer what spec says.
func (s *Store) HoldInstance(ctx context.Context, spec proto.InstanceSpecifier, reason string, checkAfter time.Duration) error {
	op := fmt.Sprintf("hold instance %d of app %s", spec.Number, spec.App)
	return s.db.DoOnce(ctx, op, instanceToken(spec), func(ctx context.Context, token database.Token) error {
		return s.db.Query(`UPDATE schedule_instances
			SET change_token = ?, sequence_number = sequence_number + 1, held = 1, reason = ?, fetch_at = {now} + ? WHERE app = ?
			AND number = ? AND sequence_number = ? AND COALESCE(member, '') = ? AND state = ? AND fetch_at IS NOT NULL`,
			token, database.CleanReason(reason), checkAfter.Microseconds(), spec.App, spec.Number, spec.Sequence, spec.Member, proto.InstanceQueued).ExecOne(ctx, s.db.Writer)
	})
}

// moves has, for a state, the one that an instance comes from.
var moves = map[proto.InstanceState]proto.InstanceState{
	proto.InstanceToUndo:  proto.InstanceRunning,
	proto.InstanceUndoing: proto.InstanceToUndo,
}

// MoveInstance moves an instance on, from RUNNING to TO_UNDO or from there to
// UNDOING; who works on it keeps it. A reason that is "" is kept. The error is
// ErrNotUpdated if it is no longer what spec says or not in that state.
func (s *Store) MoveInstance(ctx context.Context, spec proto.InstanceSpecifier, to proto.InstanceState, reason string) (proto.Instance, error) {
	var out proto.Instance
	after := spec
	after.Sequence++
	op := fmt.Sprintf("move instance %d of app %s to %s", spec.Number, spec.App, to)
	err := s.db.InTxOnce(ctx, op, instanceToken(spec), func(ctx context.Context, t *database.Tx) error {
		q := s.db.Query("UPDATE schedule_instances SET change_token = ?, sequence_number = sequence_number + 1, state = ?", t.Token, to)
		if reason != "" {
			q.Add(", reason = ?", database.CleanReason(reason))
		}
		err := q.Add(` WHERE app = ? AND number = ? AND sequence_number = ? AND COALESCE(member, '') = ? AND state = ?`,
			spec.App, spec.Number, spec.Sequence, spec.Member, moves[to]).ExecOne(ctx, t)
		if err != nil {
			return err
		}
		out, err = s.liveInstance(ctx, t, after)
		return err
	})
	return out, err
}

// RescheduleInstance moves a recurring instance that is QUEUED to another period, in
// place. The error is ErrNotUpdated if it is no longer what spec says, ErrStaleApp if
// the app is of another generation.
func (s *Store) RescheduleInstance(ctx context.Context, spec proto.InstanceSpecifier, generation uint64, n NewInstance, skipped []AppEvent) error {
	op := fmt.Sprintf("reschedule instance %d of app %s", spec.Number, spec.App)
	return s.db.InTxOnce(ctx, op, appToken(spec.App), func(ctx context.Context, t *database.Tx) error {
		q := s.db.Query("UPDATE schedule_apps SET change_token = ? WHERE name = ?", t.Token, spec.App)
		if generation != 0 {
			q.Add(" AND generation = ?", generation)
		}
		err := q.ExecOne(ctx, t)
		if errors.Is(err, ErrNotUpdated) {
			return ErrStaleApp
		}
		if err != nil {
			return err
		}
		err = s.moveQueued(spec.App, &n).Add(`
			WHERE app = ? AND number = ? AND sequence_number = ? AND COALESCE(member, '') = ? AND next_of = ?`,
			spec.App, spec.Number, spec.Sequence, spec.Member, spec.App).ExecOne(ctx, t)
		if err != nil && s.db.Dialect.Classify(err) == database.ClassDuplicate {
			err = s.replaceQueued(ctx, t, spec.App, &n)
		}
		if err != nil {
			return err
		}
		return s.addEvents(ctx, t, skipped)
	})
}

// instanceToken is where a change of a live instance leaves its token.
func instanceToken(spec proto.InstanceSpecifier) database.Row {
	return database.RowOf("SELECT change_token FROM schedule_instances WHERE app = ? AND number = ?", spec.App, spec.Number)
}

// appToken is where a change of an app leaves its token.
func appToken(app string) database.Row {
	return database.RowOf("SELECT change_token FROM schedule_apps WHERE name = ?", app)
}
