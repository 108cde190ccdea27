package audit

import (
	"context"
	"database/sql"
	"fmt"
)

// seen is how an instance was when it was last seen.
type seen struct {
	state    int
	sequence uint64
	archived bool
}

// checkMoves holds all live instances, and those archived since then, against how
// they were before: numbers of changes only grow, and no state comes back. It returns
// when the newest was archived.
func (a *Audit) checkMoves(ctx context.Context, tx *sql.Tx, since int64) (newest int64, err error) {
	now := map[key]seen{}
	from, to := a.between()
	err = each(ctx, tx, func(r *sql.Rows) error {
		var k key
		var s seen
		err := r.Scan(&k.app, &k.number, &s.state, &s.sequence)
		now[k] = s
		return err
	}, `SELECT app, number, state, sequence_number FROM schedule_instances WHERE app >= ? AND app < ?`, from, to)
	if err != nil {
		return 0, err
	}
	err = each(ctx, tx, func(r *sql.Rows) error {
		var k key
		var finished int64
		s := seen{archived: true}
		err := r.Scan(&k.app, &k.number, &s.state, &s.sequence, &finished)
		now[k], newest = s, max(newest, finished)
		return err
	}, `SELECT app, number, state, sequence_number, finished_at FROM schedule_archive
		WHERE app >= ? AND app < ? AND finished_at >= ?`, from, to, since)
	if err != nil {
		return 0, err
	}
	for k, s := range now {
		if was, ok := a.seen[k]; ok {
			if wrong := move(was, s); wrong != "" {
				a.cfg.Found.Add("moves", "%s: %s%s", k, wrong, a.trace.story(k))
			}
		}
	}
	for k, was := range a.seen {
		if _, ok := now[k]; !ok && !was.archived {
			a.cfg.Found.Add("moves", "%s: was live in state %d and is gone%s", k, was.state, a.trace.story(k))
			delete(a.seen, k)
		}
	}
	for k, s := range now {
		a.seen[k] = s
	}
	return newest, nil
}

// move says what is wrong with a change from one look to the next; "" if nothing is.
func move(was, is seen) string {
	switch {
	case was.archived && was != is:
		return fmt.Sprintf("was archived in state %d with sequence %d, and is in state %d with sequence %d", was.state, was.sequence, is.state, is.sequence)
	case is.sequence < was.sequence:
		return fmt.Sprintf("sequence went from %d to %d", was.sequence, is.sequence)
	case is.state != was.state && is.sequence == was.sequence:
		return fmt.Sprintf("state went from %d to %d and the sequence stayed %d", was.state, is.state, is.sequence)
	case is.state != was.state && !legal(was.state, is.state):
		return fmt.Sprintf("state went from %d to %d", was.state, is.state)
	}
	return ""
}

// legal says whether one state may follow another, with others in between. What
// waits to be undone again may go back to TO_UNDO.
func legal(from, to int) bool {
	switch from {
	case queued, running:
		return to > from
	case toUndo, undoing:
		return to == toUndo || to == undoing || to == failed
	}
	return false
}

// each calls f with each row of a query.
func each(ctx context.Context, tx *sql.Tx, f func(*sql.Rows) error, query string, args ...any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
