package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// expireBatch bounds how many SJCs one call of ExpireSJCs ends.
const expireBatch = 1000

// ExpireSJCs ends requests whose SJC nobody has claimed and that have been
// suspended for longer than ttl (rounded to the second): the SJC is deleted and
// the request becomes FAIL, with the reason. It returns their ids. A request that
// cannot be ended is set aside: it is in the error, and the others go on. One call
// ends at most 1,000.
func (s *Store) ExpireSJCs(ctx context.Context, ttl time.Duration) ([]string, error) {
	ttl = ttl.Round(time.Second)
	var ids []string
	err := s.db.Do(ctx, "expired suspended job chains", func(ctx context.Context) error {
		var err error
		ids, err = s.db.Query(`SELECT request_id FROM suspended_job_chains WHERE claimed_by IS NULL AND suspended_at < {now} - ?
			ORDER BY suspended_at LIMIT ?`,
			ttl.Microseconds(), expireBatch).Strings(ctx, s.db.Reader)
		return err
	})
	if err != nil {
		return nil, err
	}
	reason := fmt.Sprintf("suspended for longer than %s: no job runner took it", ttl)
	var ended []string
	var errs []error
	for _, id := range ids {
		done, err := s.expire(ctx, id, reason)
		switch {
		case ctx.Err() != nil || errors.Is(err, ErrUnavailable):
			return ended, errors.Join(append(errs, err)...)
		case err != nil:
			errs = append(errs, err)
		case done:
			ended = append(ended, id)
		}
	}
	return ended, errors.Join(errs...)
}

// expire ends one request. done is false if its SJC was claimed or resumed in the
// meantime, or if it has no SUSPENDED request: then it is only deleted.
func (s *Store) expire(ctx context.Context, id, reason string) (done bool, err error) {
	err = s.db.InTxOnce(ctx, "expire the suspended job chain of request "+id, requestToken(id), func(ctx context.Context, t *database.Tx) error {
		// The request first, as in every other transaction; the claim is looked at
		// when its row is locked.
		n, err := s.db.Query(`UPDATE requests SET change_token = ?, state = ?, reason = ?, finished_at = {now}, updated_at = {now}
			WHERE request_id = ? AND state = ?`,
			t.Token, proto.StateFail, reason, id, proto.StateSuspended).Exec(ctx, t)
		if err != nil {
			return err
		}
		done = n == 1
		n, err = s.db.Query("DELETE FROM suspended_job_chains WHERE request_id = ? AND claimed_by IS NULL", id).Exec(ctx, t)
		if err != nil {
			return err
		}
		if n == 0 {
			done = false
			return errClaimed
		}
		return nil
	})
	if errors.Is(err, errClaimed) {
		return false, nil
	}
	if err == nil && !done {
		s.db.Config.Logger.WarnContext(ctx, "deleted a suspended job chain without a suspended request", "request", id)
	}
	return done, err
}

// errClaimed takes back a transaction whose SJC was claimed in the meantime.
var errClaimed = errors.New("claimed")
