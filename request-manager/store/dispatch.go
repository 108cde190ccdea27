package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// Pending is a request that waits for a runner.
type Pending struct {
	RequestID     string
	Epoch         uint64
	StopRequested bool
	CreatedAt     time.Time
	// Host is the only one that may run it; "" is any.
	Host string
}

// PendingRequests returns PENDING requests that were created at least that long
// ago, oldest first: those that any host may run, and those of these hosts.
func (s *Store) PendingRequests(ctx context.Context, olderThan time.Duration, limit int, hosts ...string) ([]Pending, error) {
	var out []Pending
	err := s.db.Do(ctx, "pending requests", func(ctx context.Context) error {
		out = nil
		// Equal times backwards by id: this is the index read from its end.
		q := s.db.Query(`SELECT request_id, epoch, stop_requested_at IS NOT NULL, created_at, host FROM requests{index requests_state}
			WHERE state = ? AND created_at <= {now} - ? AND host IN {ids}
			ORDER BY created_at, request_id DESC LIMIT ?`,
			proto.StatePending, olderThan.Microseconds(), withAnyHost(hosts), limit)
		return q.Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
			var p Pending
			var created int64
			if err := scan(&p.RequestID, &p.Epoch, &p.StopRequested, &created, &p.Host); err != nil {
				return err
			}
			p.CreatedAt = database.FromMicros(created)
			out = append(out, p)
			return nil
		})
	})
	return out, err
}

// withAnyHost adds to hosts what stands for any.
func withAnyHost(hosts []string) []string { return append([]string{""}, hosts...) }

// Handover is a request to hand to a runner.
type Handover struct {
	RequestID string
	Epoch     uint64 // the one that the request has now
}

// Dispatch marks requests as RUNNING on a runner, each under its next epoch, and
// returns the ids of those that were taken: the others were no longer PENDING
// under their epoch, or are to be stopped. Two calls never take the same request
// under the same epoch.
func (s *Store) Dispatch(ctx context.Context, reqs []Handover, runnerID, url string) (taken []string, err error) {
	err = database.Chunks(reqs, func(reqs []Handover) error {
		ids, err := s.dispatch(ctx, reqs, runnerID, url)
		taken = append(taken, ids...)
		return err
	})
	return taken, err
}

func (s *Store) dispatch(ctx context.Context, reqs []Handover, runnerID, url string) ([]string, error) {
	ids := make([]string, len(reqs))
	epochs := make(map[string]uint64, len(reqs))
	for i, r := range reqs {
		ids[i], epochs[r.RequestID] = r.RequestID, r.Epoch
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	// The call knows what it took by its token, also if the answer to the UPDATE is lost.
	token := database.NewToken()
	var taken []string
	err := s.db.Do(ctx, "dispatch", func(ctx context.Context) error {
		q := s.db.Query(`UPDATE requests{primary}
			SET state = ?, epoch = epoch + 1, runner_id = ?, jr_url = ?, reason = '', change_token = ?, handover_at = {now}, updated_at = {now}, started_at = COALESCE(started_at, {now})`,
			proto.StateRunning, runnerID, url, token)
		addFence(q, proto.StatePending, ids, epochs).Add(" AND stop_requested_at IS NULL")
		n, err := q.Exec(ctx, s.db.Writer)
		if err != nil {
			return err
		}
		if int(n) == len(ids) {
			taken = ids
			return nil
		}
		taken, err = s.db.Query(`SELECT request_id FROM requests WHERE change_token = ? AND request_id IN {ids}`,
			token, ids).Strings(ctx, s.db.Writer)
		return err
	})
	return taken, err
}

// addFence appends a WHERE that lets through the requests that are in the state,
// each under its epoch.
func addFence(q *database.Query, state proto.State, ids []string, epochs map[string]uint64) *database.Query {
	q.Add(" WHERE request_id IN {ids} AND epoch = ", ids)
	addChoice(q, ids, func(id string) (any, database.Fragment) {
		e := epochs[id]
		return e, func(q *database.Query) { q.Add("?", e) }
	})
	// The plus keeps SQLite from using the index on state: the ids are few.
	return q.Add(" AND +state = ?", state)
}

// addChoice appends an expression that depends on request_id. For each id, value
// returns what stands for it and a key that is the same where the expression is
// the same. The most frequent one needs no mention of ids.
func addChoice(q *database.Query, ids []string, value func(id string) (key any, f database.Fragment)) *database.Query {
	type group struct {
		ids []string
		f   database.Fragment
	}
	var groups []*group
	byKey := map[any]*group{}
	for _, id := range ids {
		key, f := value(id)
		g := byKey[key]
		if g == nil {
			g = &group{f: f}
			byKey[key] = g
			groups = append(groups, g)
		}
		g.ids = append(g.ids, id)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return len(a.ids) - len(b.ids) })
	last := len(groups) - 1
	if last > 0 {
		q.Add("CASE ")
		for _, g := range groups[:last] {
			q.Add("WHEN request_id IN {ids} THEN ", g.ids)
			g.f(q)
			q.Add(" ")
		}
		q.Add("ELSE ")
	}
	groups[last].f(q)
	if last > 0 {
		q.Add(" END")
	}
	return q
}

// Return takes back a hand-over: RUNNING under epoch becomes PENDING again, or
// STOPPED if that was asked for. It is for requests that no runner took: one that
// has job log entries is ErrNotUpdated, since it must not start from the beginning.
func (s *Store) Return(ctx context.Context, id string, epoch uint64, reason string) error {
	return s.db.DoOnce(ctx, "return request "+id, requestToken(id), func(ctx context.Context, token database.Token) error {
		q := s.db.Query(`UPDATE requests SET change_token = ?,
			reason = CASE WHEN stop_requested_at IS NULL THEN ? ELSE ? END,
			finished_at = CASE WHEN stop_requested_at IS NULL THEN NULL ELSE {now} END, state = CASE WHEN stop_requested_at IS NULL THEN ? ELSE ? END,
			started_at = NULL, runner_id = NULL, jr_url = NULL, updated_at = {now} WHERE request_id = ? AND state = ?
			AND epoch = ?
				AND NOT EXISTS (SELECT 1 FROM job_log WHERE job_log.request_id = requests.request_id)`,
			token, database.CleanReason(reason), stopReason, proto.StatePending, proto.StateStopped, id, proto.StateRunning, epoch)
		err := q.ExecOne(ctx, s.db.Writer)
		if !errors.Is(err, ErrNotUpdated) {
			return err
		}
		return s.notUpdated(ctx, s.db.Writer, id)
	})
}

// FailPending ends a PENDING request as FAIL, with the reason.
func (s *Store) FailPending(ctx context.Context, id, reason string) error {
	return s.db.DoOnce(ctx, "fail request "+id, requestToken(id), func(ctx context.Context, token database.Token) error {
		q := s.db.Query(`UPDATE requests SET change_token = ?, state = ?, reason = ?, finished_at = {now}, updated_at = {now}
			WHERE request_id = ? AND state = ?`,
			token, proto.StateFail, database.CleanReason(reason), id, proto.StatePending)
		err := q.ExecOne(ctx, s.db.Writer)
		if !errors.Is(err, ErrNotUpdated) {
			return err
		}
		return s.notUpdated(ctx, s.db.Writer, id)
	})
}

// requestToken is where a change of a request leaves its token.
func requestToken(id string) database.Row {
	return database.RowOf("SELECT change_token FROM requests WHERE request_id = ?", id)
}

// notUpdated is the error of a change that found no row to change: it says what the
// request is now.
func (s *Store) notUpdated(ctx context.Context, db database.Querier, id string) error {
	var state proto.State
	var epoch uint64
	err := s.db.Query("SELECT state, epoch FROM requests WHERE request_id = ?", id).Row(ctx, db, &state, &epoch)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: it is %s under epoch %d", ErrNotUpdated, state, epoch)
}
