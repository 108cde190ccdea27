package store

import (
	"context"
	"fmt"

	"github.com/treadle-run/treadle/proto"
)

// RetryUndo has an instance looked at now whose undo failed and waits to be tried
// again. The error is ErrNotUpdated if it is no longer what spec says, or in another
// state.
func (s *Store) RetryUndo(ctx context.Context, spec proto.InstanceSpecifier) error {
	after := spec
	after.Sequence++
	op := fmt.Sprintf("retry the undo of instance %d of app %s", spec.Number, spec.App)
	return s.db.Do(ctx, op, func(ctx context.Context, try int) error {
		err := s.db.Query(`UPDATE schedule_instances SET sequence_number = sequence_number + 1, fetch_at = {now}
			WHERE app = ? AND number = ? AND sequence_number = ? AND COALESCE(member, '') = ? AND state = ? AND member IS NULL`,
			spec.App, spec.Number, spec.Sequence, spec.Member, proto.InstanceToUndo).ExecOne(ctx, s.db.Writer)
		return s.changedBefore(ctx, try, err, after)
	})
}
