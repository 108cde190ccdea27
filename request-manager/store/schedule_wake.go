package store

import (
	"context"

	"github.com/treadle-run/treadle/proto"
)

// wakeChunk is how many instances are woken by one statement.
const wakeChunk = 200

// instanceKey is the primary key of an instance.
type instanceKey struct {
	app    string
	number uint64
}

// WakeInstances has the instances looked at now that wait for those requests, and
// returns how many do.
func (s *Store) WakeInstances(ctx context.Context, requestIDs []string) (n int, err error) {
	err = chunks(requestIDs, func(ids []string) error {
		var keys []instanceKey
		err := s.do(ctx, "instances that wait for requests", func(ctx context.Context, _ int) error {
			var err error
			keys, err = s.q(`SELECT app, number FROM schedule_instances{index schedule_instances_waits}
				WHERE waits_for IN {ids} ORDER BY app, number`,
				ids).keys(ctx, s.write)
			return err
		})
		if err != nil {
			return err
		}
		// By their keys and in order: two such calls do not stand in each other's way.
		met, err := s.wake(ctx, keys, func(q *query) { q.add(" AND member IS NULL AND waits_for IS NOT NULL") },
			func(q *query) {})
		n += met
		return err
	})
	return n, err
}

// WakeHost has the instances looked at now that are due and could not start since
// nothing ran on the host, and returns how many.
func (s *Store) WakeHost(ctx context.Context, host string) (int, error) {
	if host == "" {
		return 0, nil
	}
	var keys []instanceKey
	err := s.do(ctx, "instances of host "+host, func(ctx context.Context, _ int) error {
		var err error
		keys, err = s.q(`SELECT app, number FROM schedule_instances{index schedule_instances_host}
			WHERE host = ? AND held = 1 AND due_at <= {now} ORDER BY app, number`, host).keys(ctx, s.write)
		return err
	})
	if err != nil {
		return 0, err
	}
	// Who is about to hold it again looks at it once more.
	return s.wake(ctx, keys, func(q *query) { q.add(" AND held = 1 AND state = ?", proto.InstanceQueued) },
		func(q *query) { q.add(", held = 0, sequence_number = sequence_number + 1") })
}

// wake sets when the instances are looked at to now, if still says so, and what set
// adds.
func (s *Store) wake(ctx context.Context, keys []instanceKey, still, set fragment) (int, error) {
	woken := 0
	for len(keys) > 0 {
		n := min(len(keys), wakeChunk)
		var met int64
		err := s.do(ctx, "wake instances", func(ctx context.Context, _ int) error {
			q := s.q("UPDATE schedule_instances{primary} SET fetch_at = {now}")
			set(q)
			q.add(" WHERE ").among(keys[:n]).add(" AND fetch_at > {now}")
			still(q)
			var err error
			met, err = q.exec(ctx, s.write)
			return err
		})
		if err != nil {
			return woken, err
		}
		woken += int(met)
		keys = keys[n:]
	}
	return woken, nil
}

// keys returns the answer's two columns.
func (q *query) keys(ctx context.Context, db querier) ([]instanceKey, error) {
	var out []instanceKey
	err := q.rows(ctx, db, func(scan func(...any) error) error {
		var k instanceKey
		err := scan(&k.app, &k.number)
		out = append(out, k)
		return err
	})
	return out, err
}

// among appends the condition that a row is one of these. There must be one at least.
func (q *query) among(keys []instanceKey) *query {
	sep := "("
	for _, k := range keys {
		q.add(sep+"app = ? AND number = ?", k.app, k.number)
		sep = " OR "
	}
	return q.add(")")
}
