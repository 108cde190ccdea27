package store

import (
	"context"
	"fmt"

	"github.com/treadle-run/treadle/internal/database"
)

// grownError says how many entries the logs of some requests have, which are not
// as many as their items were computed from.
type grownError struct {
	lengths map[string]uint64 // by request id
}

func (e *grownError) Error() string {
	return fmt.Sprintf("the logs of %d requests have grown", len(e.lengths))
}

// checkLogs returns a grownError for the items whose log does not have the length
// that they ask for. The rows of their requests have been updated, so that nobody else
// adds to their logs now.
func (s *Store) checkLogs(ctx context.Context, t *database.Tx, items []*reportItem) error {
	want := map[string]uint64{}
	var ids []string
	for _, it := range items {
		if it.LogLength != nil {
			ids = append(ids, it.RequestID)
			want[it.RequestID] = *it.LogLength
		}
	}
	grown := &grownError{map[string]uint64{}}
	err := database.Chunks(ids, func(ids []string) error {
		has := map[string]uint64{}
		err := s.db.Query(`SELECT request_id, MAX(seq) + 1 FROM job_log WHERE request_id IN {ids} GROUP BY request_id`, ids).
			Rows(ctx, t, func(scan func(...any) error) error {
				var id string
				var n uint64
				err := scan(&id, &n)
				has[id] = n
				return err
			})
		for _, id := range ids {
			if has[id] != want[id] {
				grown.lengths[id] = has[id]
			}
		}
		return err
	})
	if err == nil && len(grown.lengths) > 0 {
		return grown
	}
	return err
}
