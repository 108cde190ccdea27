package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// Stopped says what became of a request that was to be stopped.
type Stopped struct {
	State proto.State // now
	// RunnerID and URL are the runner that must be told, if State is RUNNING.
	RunnerID, URL string
	Epoch         uint64
}

// stopRaces bounds how often a request may change state under Stop's eyes.
const stopRaces = 10

var errStateChanged = errors.New("the request changes its state all the time")

// Stop records that the request is to be stopped. Between two runners (PENDING,
// SUSPENDED) it is STOPPED at once; while RUNNING it will be when its runner, or
// whoever takes it from there, says so. For one that has ended the error is
// ErrNotUpdated, with the state in Stopped.
func (s *Store) Stop(ctx context.Context, id string) (Stopped, error) {
	var out Stopped
	op := "stop request " + id
	if !plausibleID(id) {
		return out, fmt.Errorf("%s: %w", op, ErrNotFound)
	}
	final := false
	err := s.db.InTxOnce(ctx, op, requestToken(id), func(ctx context.Context, t *database.Tx) error {
		for range stopRaces {
			var done bool
			var err error
			if out, done, err = s.stop(ctx, t, id); err != nil {
				return err
			}
			final = !done && out.State.Final()
			if done || out.State.Final() {
				return nil
			}
		}
		return errStateChanged
	})
	if err == nil && final {
		err = fmt.Errorf("%s: %w: it is %s", op, ErrNotUpdated, out.State)
	}
	return out, err
}

// stop tries both ways once. done is false if neither met the request.
func (s *Store) stop(ctx context.Context, t *database.Tx, id string) (out Stopped, done bool, err error) {
	n, err := s.db.Query(`UPDATE requests
		SET change_token = ?, state = ?, runner_id = NULL, jr_url = NULL, reason = ?, finished_at = {now}, updated_at = {now}, stop_requested_at = COALESCE(stop_requested_at, {now})
		WHERE request_id = ? AND state IN (?, ?)`,
		t.Token, proto.StateStopped, stopReason, id, proto.StatePending, proto.StateSuspended).Exec(ctx, t)
	if err != nil {
		return out, false, err
	}
	if n == 0 {
		n, err = s.db.Query(`UPDATE requests SET change_token = ?, stop_requested_at = COALESCE(stop_requested_at, {now}), updated_at = {now}
			WHERE request_id = ? AND state = ?`,
			t.Token, id, proto.StateRunning).Exec(ctx, t)
	} else {
		_, err = s.db.Query("DELETE FROM suspended_job_chains WHERE request_id = ?", id).Exec(ctx, t)
	}
	if err != nil {
		return out, false, err
	}
	var runner, url sql.NullString
	err = s.db.Query(`SELECT state, epoch, runner_id, jr_url FROM requests WHERE request_id = ?`,
		id).Row(ctx, t, &out.State, &out.Epoch, &runner, &url)
	out.RunnerID, out.URL = runner.String, url.String
	return out, n > 0, err
}
