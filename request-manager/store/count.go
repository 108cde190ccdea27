package store

import (
	"context"

	"github.com/treadle-run/treadle/proto"
)

// CountOpen returns how many requests are in each state that is not final. It
// reads the index on state alone.
func (s *Store) CountOpen(ctx context.Context) (map[proto.State]int, error) {
	out := map[proto.State]int{}
	err := s.db.Do(ctx, "count requests", func(ctx context.Context) error {
		for _, state := range []proto.State{proto.StatePending, proto.StateRunning, proto.StateSuspended} {
			var n int
			q := s.db.Query("SELECT COUNT(*) FROM requests{index requests_state} WHERE state = ?", state)
			if err := q.Row(ctx, s.db.Reader, &n); err != nil {
				return err
			}
			out[state] = n
		}
		return nil
	})
	return out, err
}
