package store

import (
	"context"
	"errors"

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
func (t *tx) moveRequests(ctx context.Context, items []*reportItem) error {
	ids := make([]string, len(items))
	byID := make(map[string]*reportItem, len(items))
	epochs := make(map[string]uint64, len(items))
	moved := false
	for i, it := range items {
		ids[i], byID[it.RequestID], epochs[it.RequestID] = it.RequestID, it, it.Epoch
		moved = moved || it.target != proto.StateRunning
	}
	q := t.s.q("UPDATE requests{primary} SET updated_at = {now}, finished_jobs = ")
	q.choose(ids, func(id string) (any, fragment) {
		n := byID[id].FinishedJobs
		return n, func(q *query) { q.add("?", n) }
	})
	if moved {
		for _, column := range []struct {
			name  string
			value func(*query, move)
		}{
			{"state", (*query).moveState},
			{"reason", (*query).moveReason},
			{"finished_at", (*query).moveFinished},
			{"runner_id", func(q *query, m move) { q.keepIfRunning(m, "runner_id") }},
			{"jr_url", func(q *query, m move) { q.keepIfRunning(m, "jr_url") }},
		} {
			q.add(", "+column.name+" = ").choose(ids, func(id string) (any, fragment) {
				m := move{byID[id].target, cleanReason(byID[id].Reason)}
				return m, func(q *query) { column.value(q, m) }
			})
		}
	}
	n, err := q.fence(proto.StateRunning, ids, epochs).exec(ctx, t)
	if err != nil {
		return err
	}
	if int(n) < len(ids) {
		return errShort
	}
	return nil
}

func (q *query) moveState(m move) {
	if m.target == proto.StateRunning || m.target == proto.StateStopped {
		q.add("?", m.target)
		return
	}
	q.add("CASE WHEN stop_requested_at IS NULL THEN ? ELSE ? END", m.target, proto.StateStopped)
}

func (q *query) moveReason(m move) {
	switch {
	case m.target == proto.StateRunning:
		q.add("reason")
	case m.reason != "":
		q.add("?", m.reason)
	default:
		q.add("CASE WHEN stop_requested_at IS NULL THEN '' ELSE ? END", stopReason)
	}
}

func (q *query) moveFinished(m move) {
	switch {
	case m.target == proto.StateRunning:
		q.add("finished_at")
	case m.target.Final():
		q.add("{now}")
	default:
		q.add("CASE WHEN stop_requested_at IS NULL THEN NULL ELSE {now} END")
	}
}

func (q *query) keepIfRunning(m move, column string) {
	if m.target == proto.StateRunning {
		q.add(column)
	} else {
		q.add("NULL")
	}
}
