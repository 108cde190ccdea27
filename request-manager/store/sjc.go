package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// unclaimedScan bounds how many suspended job chains are looked at to choose from.
const unclaimedScan = 10_000

// SJC is a suspended job chain that was claimed.
type SJC struct {
	RequestID string
	Epoch     uint64    // of the request, now
	Since     time.Time // when it was suspended
	Body      []byte    // JSON of the proto.SuspendedJobChain
}

// Suspend hands back the chain of a request that is RUNNING under epoch: the SJC is
// stored (encrypted if seal is set) and the request becomes SUSPENDED. If a stop
// was asked for, it becomes STOPPED and nothing is stored. It counts as suspended
// since then; zero is now.
func (s *Store) Suspend(ctx context.Context, id string, epoch uint64, since time.Time, sjc []byte, seal bool, reason string) error {
	blob, err := s.db.EncodeBlob(id, sjc, seal)
	if err != nil {
		return err
	}
	return s.db.InTxOnce(ctx, "suspend request "+id, requestToken(id), func(ctx context.Context, t *database.Tx) error {
		err := s.db.Query(`UPDATE requests SET change_token = ?, runner_id = NULL, jr_url = NULL, updated_at = {now},
			state = CASE WHEN stop_requested_at IS NULL THEN ? ELSE ? END,
			reason = CASE WHEN stop_requested_at IS NULL THEN ? ELSE ? END,
			finished_at = CASE WHEN stop_requested_at IS NULL THEN NULL ELSE {now} END
			WHERE request_id = ? AND state = ? AND epoch = ?`,
			t.Token, proto.StateSuspended, proto.StateStopped, database.CleanReason(reason), stopReason,
			id, proto.StateRunning, epoch).ExecOne(ctx, t)
		if errors.Is(err, ErrNotUpdated) {
			return s.notUpdated(ctx, t, id)
		}
		if err != nil {
			return err
		}
		return s.insertSJCs(ctx, t, map[string][]byte{id: blob}, since)
	})
}

// insertSJCs stores the SJCs, by request id, of those requests that are SUSPENDED
// now: the others were to be stopped. They count as suspended since then; zero is
// now.
func (s *Store) insertSJCs(ctx context.Context, t *database.Tx, blobs map[string][]byte, since time.Time) error {
	if len(blobs) == 0 {
		return nil
	}
	now, err := s.db.ReadNow(ctx, t)
	if err != nil {
		return err
	}
	suspendedAt := now
	if !since.IsZero() {
		suspendedAt = min(since.UnixMicro(), now)
	}
	return database.Chunks(slices.Sorted(maps.Keys(blobs)), func(ids []string) error {
		suspended, err := s.db.Query(`SELECT request_id FROM requests WHERE request_id IN {ids} AND +state = ? ORDER BY request_id`,
			ids, proto.StateSuspended).Strings(ctx, t)
		if err != nil || len(suspended) == 0 {
			return err
		}
		rows := make([][]any, len(suspended))
		for i, id := range suspended {
			rows[i] = []any{id, suspendedAt, now, blobs[id]}
		}
		return s.db.InsertRows(ctx, t,
			"INSERT INTO suspended_job_chains (request_id, suspended_at, updated_at, sjc) VALUES", rows)
	})
}

// UnclaimedSJC is a suspended job chain that nobody claimed.
type UnclaimedSJC struct {
	RequestID string
	Host      string // the only one that may run it; "" is any
}

// UnclaimedSJCs returns SJCs that nobody claimed and that are not suspended for longer
// than the ttl: those that any host may run and those of these hosts, in random order,
// so that several managers rarely go for the same.
func (s *Store) UnclaimedSJCs(ctx context.Context, ttl time.Duration, limit int, hosts ...string) ([]UnclaimedSJC, error) {
	var out []UnclaimedSJC
	err := s.db.Do(ctx, "unclaimed suspended job chains", func(ctx context.Context) error {
		out = nil
		// CROSS: SQLite must not start with the requests, which are many.
		return s.db.Query(`SELECT c.request_id, r.host FROM suspended_job_chains c CROSS JOIN requests r ON r.request_id = c.request_id
			WHERE c.claimed_by IS NULL AND r.host IN {ids} AND c.suspended_at >= {now} - ? ORDER BY c.suspended_at LIMIT ?`,
			withAnyHost(hosts), ttl.Microseconds(), max(limit, unclaimedScan)).
			Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
				var u UnclaimedSJC
				err := scan(&u.RequestID, &u.Host)
				out = append(out, u)
				return err
			})
	})
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(limit, len(out))], err
}

// ClaimSJC claims an SJC for a manager and returns it. The error is ErrNotUpdated
// if it is claimed or no longer there.
func (s *Store) ClaimSJC(ctx context.Context, id, managerID string) (SJC, error) {
	out := SJC{RequestID: id}
	var blob []byte
	var since int64
	err := s.db.InTxOnce(ctx, "claim the suspended job chain of request "+id, sjcToken(id), func(ctx context.Context, t *database.Tx) error {
		err := s.db.Query(`UPDATE suspended_job_chains SET change_token = ?, claimed_by = ?, claimed_at = {now}, updated_at = {now}
			WHERE request_id = ? AND claimed_by IS NULL`,
			t.Token, managerID, id).ExecOne(ctx, t)
		if err != nil {
			return err
		}
		err = s.db.Query(`SELECT r.epoch, c.suspended_at, c.sjc
			FROM suspended_job_chains c JOIN requests r ON r.request_id = c.request_id
			WHERE c.request_id = ? AND c.claimed_by = ? AND r.state = ?`,
			id, managerID, proto.StateSuspended).Row(ctx, t, &out.Epoch, &since, &blob)
		if errors.Is(err, ErrNotFound) {
			return fmt.Errorf("%w: its request is not SUSPENDED", ErrNotUpdated)
		}
		return err
	})
	if err != nil {
		return SJC{}, err
	}
	out.Since = database.FromMicros(since)
	if out.Body, err = s.db.DecodeBlob(id, blob); err != nil {
		return SJC{}, errors.Join(err, s.UnclaimSJC(ctx, id, managerID))
	}
	return out, nil
}

// UnclaimSJC releases a claim. The error is ErrNotUpdated if it is not the
// manager's.
func (s *Store) UnclaimSJC(ctx context.Context, id, managerID string) error {
	return s.db.DoOnce(ctx, "unclaim the suspended job chain of request "+id, sjcToken(id), func(ctx context.Context, token database.Token) error {
		return s.db.Query(`UPDATE suspended_job_chains SET change_token = ?, claimed_by = NULL, claimed_at = NULL, updated_at = {now}
			WHERE request_id = ? AND claimed_by = ?`,
			token, id, managerID).ExecOne(ctx, s.db.Writer)
	})
}

// sjcToken is where a claim leaves its token.
func sjcToken(id string) database.Row {
	return database.RowOf("SELECT change_token FROM suspended_job_chains WHERE request_id = ?", id)
}

// Resume hands a SUSPENDED request whose SJC managerID has claimed to a runner: it is
// RUNNING under the next epoch, and the SJC is deleted.
func (s *Store) Resume(ctx context.Context, id string, epoch uint64, managerID, runnerID, url string) error {
	return s.db.InTxOnce(ctx, "resume request "+id, requestToken(id), func(ctx context.Context, t *database.Tx) error {
		err := s.db.Query(`UPDATE requests SET state = ?, epoch = epoch + 1, runner_id = ?, jr_url = ?, reason = '',
			change_token = ?, handover_at = {now}, updated_at = {now}, started_at = COALESCE(started_at, {now})
			WHERE request_id = ? AND state = ? AND epoch = ?`,
			proto.StateRunning, runnerID, url, t.Token, id, proto.StateSuspended, epoch).ExecOne(ctx, t)
		if errors.Is(err, ErrNotUpdated) {
			return s.notUpdated(ctx, t, id)
		}
		if err != nil {
			return err
		}
		return s.db.Query("DELETE FROM suspended_job_chains WHERE request_id = ? AND claimed_by = ?", id, managerID).ExecOne(ctx, t)
	})
}

// DropOldClaims releases claims that are older than that: their manager is dead.
// It returns how many.
func (s *Store) DropOldClaims(ctx context.Context, age time.Duration) (int, error) {
	var n int64
	err := s.db.Do(ctx, "drop old claims", func(ctx context.Context) error {
		var err error
		n, err = s.db.Query(`UPDATE suspended_job_chains SET claimed_by = NULL, claimed_at = NULL, updated_at = {now}
			WHERE claimed_by IS NOT NULL AND claimed_at < {now} - ?`,
			age.Microseconds()).Exec(ctx, s.db.Writer)
		return err
	})
	return int(n), err
}
