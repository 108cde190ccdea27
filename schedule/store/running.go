package store

import (
	"context"

	"github.com/treadle-run/treadle/proto"
)

// RunningInstances counts the instances that were started and have not ended, of each
// app whose name is after `after` and not after `last`. Apps without any are left out.
func (s *Store) RunningInstances(ctx context.Context, after, last string) (map[string]int, error) {
	counts := map[string]int{}
	err := s.db.Do(ctx, "count running instances", func(ctx context.Context) error {
		clear(counts)
		return s.db.Query(`SELECT app, COUNT(*) FROM schedule_instances{index schedule_instances_state}
			WHERE state IN (?, ?, ?) AND app > ? AND app <= ? GROUP BY app`,
			proto.InstanceRunning, proto.InstanceToUndo, proto.InstanceUndoing, after, last).
			Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
				var app string
				var n int
				err := scan(&app, &n)
				counts[app] = n
				return err
			})
	})
	return counts, err
}
