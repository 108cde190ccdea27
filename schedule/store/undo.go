package store

import (
	"context"
	"fmt"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// RetryUndo has an instance looked at now whose undo failed and waits to be tried
// again. The error is ErrNotUpdated if it is no longer what spec says, or in another
// state.
func (s *Store) RetryUndo(ctx context.Context, spec proto.InstanceSpecifier) error {
	op := fmt.Sprintf("retry the undo of instance %d of app %s", spec.Number, spec.App)
	return s.db.DoOnce(ctx, op, instanceToken(spec), func(ctx context.Context, token database.Token) error {
		return s.db.Query(`UPDATE schedule_instances SET change_token = ?, sequence_number = sequence_number + 1, fetch_at = {now}
			WHERE app = ? AND number = ? AND sequence_number = ? AND COALESCE(member, '') = ? AND state = ? AND member IS NULL`,
			token, spec.App, spec.Number, spec.Sequence, spec.Member, proto.InstanceToUndo).ExecOne(ctx, s.db.Writer)
	})
}
