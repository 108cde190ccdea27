package store

import (
	"context"
	"errors"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// errShort says that an UPDATE met fewer requests than the report has.
var errShort = errors.New("some requests are no longer the runner's")

// move is what becomes of a request: the same for many of a report.
type move struct {
	target proto.State
	reason string
}

// moveRequests updates the requests of the items, in one statement.
func (s *Store) moveRequests(ctx context.Context, t *database.Tx, items []*reportItem) error {
	ids := make([]string, len(items))
	byID := make(map[string]*reportItem, len(items))
	epochs := make(map[string]uint64, len(items))
	moved := false
	for i, it := range items {
		ids[i], byID[it.RequestID], epochs[it.RequestID] = it.RequestID, it, it.Epoch
		moved = moved || it.target != proto.StateRunning
	}
	q := s.db.Query("UPDATE requests{primary} SET updated_at = {now}, finished_jobs = ")
	addChoice(q, ids, func(id string) (any, database.Fragment) {
		n := byID[id].FinishedJobs
		return n, func(q *database.Query) { q.Add("?", n) }
	})
	if moved {
		for _, column := range []struct {
			name  string
			value func(*database.Query, move)
		}{
			{"state", addState},
			{"reason", addReason},
			{"finished_at", addFinished},
			{"runner_id", func(q *database.Query, m move) { keepIfRunning(q, m, "runner_id") }},
			{"jr_url", func(q *database.Query, m move) { keepIfRunning(q, m, "jr_url") }},
		} {
			addChoice(q.Add(", "+column.name+" = "), ids, func(id string) (any, database.Fragment) {
				m := move{byID[id].target, database.CleanReason(byID[id].Reason)}
				return m, func(q *database.Query) { column.value(q, m) }
			})
		}
	}
	n, err := addFence(q, proto.StateRunning, ids, epochs).Exec(ctx, t)
	if err != nil {
		return err
	}
	if int(n) < len(ids) {
		return errShort
	}
	return nil
}

func addState(q *database.Query, m move) {
	if m.target == proto.StateRunning || m.target == proto.StateStopped {
		q.Add("?", m.target)
		return
	}
	q.Add("CASE WHEN stop_requested_at IS NULL THEN ? ELSE ? END", m.target, proto.StateStopped)
}

func addReason(q *database.Query, m move) {
	switch {
	case m.target == proto.StateRunning:
		q.Add("reason")
	case m.reason != "":
		q.Add("?", m.reason)
	default:
		q.Add("CASE WHEN stop_requested_at IS NULL THEN '' ELSE ? END", stopReason)
	}
}

func addFinished(q *database.Query, m move) {
	switch {
	case m.target == proto.StateRunning:
		q.Add("finished_at")
	case m.target.Final():
		q.Add("{now}")
	default:
		q.Add("CASE WHEN stop_requested_at IS NULL THEN NULL ELSE {now} END")
	}
}

func keepIfRunning(q *database.Query, m move, column string) {
	if m.target == proto.StateRunning {
		q.Add(column)
	} else {
		q.Add("NULL")
	}
}
