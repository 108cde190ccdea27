package store

import (
	"context"

	"github.com/treadle-run/treadle/internal/database"
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
	err = database.Chunks(requestIDs, func(ids []string) error {
		var keys []instanceKey
		err := s.db.Do(ctx, "instances that wait for requests", func(ctx context.Context) error {
			var err error
			keys, err = keysOf(ctx, s.db.Query(`SELECT app, number FROM schedule_instances{index schedule_instances_waits}
				WHERE waits_for IN {ids} ORDER BY app, number`,
				ids), s.db.Writer)
			return err
		})
		if err != nil {
			return err
		}
		// By their keys and in order: two such calls do not stand in each other's way.
		met, err := s.wake(ctx, keys, func(q *database.Query) { q.Add(" AND member IS NULL AND waits_for IS NOT NULL") },
			func(q *database.Query) {})
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
	err := s.db.Do(ctx, "instances of host "+host, func(ctx context.Context) error {
		var err error
		keys, err = keysOf(ctx, s.db.Query(`SELECT app, number FROM schedule_instances{index schedule_instances_host}
			WHERE host = ? AND held = 1 AND due_at <= {now} ORDER BY app, number`, host), s.db.Writer)
		return err
	})
	if err != nil {
		return 0, err
	}
	// Who is about to hold it again looks at it once more.
	return s.wake(ctx, keys, func(q *database.Query) { q.Add(" AND held = 1 AND state = ?", proto.InstanceQueued) },
		func(q *database.Query) { q.Add(", held = 0, sequence_number = sequence_number + 1") })
}

// wake sets when the instances are looked at to now, if still says so, and what set
// adds.
func (s *Store) wake(ctx context.Context, keys []instanceKey, still, set database.Fragment) (int, error) {
	woken := 0
	for len(keys) > 0 {
		n := min(len(keys), wakeChunk)
		var met int64
		err := s.db.Do(ctx, "wake instances", func(ctx context.Context) error {
			q := s.db.Query("UPDATE schedule_instances{primary} SET fetch_at = {now}")
			set(q)
			addAmong(q.Add(" WHERE "), keys[:n]).Add(" AND fetch_at > {now}")
			still(q)
			var err error
			met, err = q.Exec(ctx, s.db.Writer)
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

// keysOf returns the answer's two columns.
func keysOf(ctx context.Context, q *database.Query, db database.Querier) ([]instanceKey, error) {
	var out []instanceKey
	err := q.Rows(ctx, db, func(scan func(...any) error) error {
		var k instanceKey
		err := scan(&k.app, &k.number)
		out = append(out, k)
		return err
	})
	return out, err
}

// addAmong appends the condition that a row is one of these. There must be one at least.
func addAmong(q *database.Query, keys []instanceKey) *database.Query {
	sep := "("
	for _, k := range keys {
		q.Add(sep+"app = ? AND number = ?", k.app, k.number)
		sep = " OR "
	}
	return q.Add(")")
}
