package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// extraChunk is how many instances one transaction makes.
const extraChunk = 100

// ExtraInstances makes instances of an app for those periods, beside those that its
// calendar or its upstream apps make, and says what became of each. None is made of a
// period of which one is live, or one has SUCCEEDED unless again is set. The error is
// ErrNotFound if there is no such app.
func (s *Store) ExtraInstances(ctx context.Context, app string, list []NewInstance, again bool) ([]RunResult, error) {
	var out []RunResult
	for len(list) > 0 {
		n := min(len(list), extraChunk)
		part, err := s.extraInstances(ctx, app, list[:n], again)
		out = append(out, part...)
		if err != nil {
			return out, err
		}
		list = list[n:]
	}
	return out, nil
}

func (s *Store) extraInstances(ctx context.Context, app string, list []NewInstance, again bool) ([]RunResult, error) {
	var out []RunResult
	err := s.db.InTxOnce(ctx, "extra instances of app "+app, appToken(app), func(ctx context.Context, t *database.Tx) error {
		out = nil
		err := s.db.Query("UPDATE schedule_apps SET change_token = ? WHERE name = ? AND deleted_at IS NULL", t.Token, app).ExecOne(ctx, t)
		if errors.Is(err, ErrNotUpdated) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		for i := range list {
			r, err := s.extraInstance(ctx, t, app, &list[i], again)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// extraInstance makes one instance; the app is locked.
func (s *Store) extraInstance(ctx context.Context, t *database.Tx, app string, n *NewInstance, again bool) (RunResult, error) {
	r := RunResult{Name: n.Name, PeriodStart: n.PeriodStart}
	var err error
	r.Why, err = s.whyNotExtra(ctx, t, app, n.PeriodStart.UnixMicro(), again)
	if err != nil || r.Why != "" {
		return r, err
	}
	err = s.db.Query("UPDATE schedule_apps SET last_number = last_number + 1 WHERE name = ?", app).ExecOne(ctx, t)
	if err != nil {
		return r, err
	}
	extra := *n
	extra.Recurring = false
	r.Made = true
	return r, s.insertInstance(ctx, t, app, &extra)
}

func (s *Store) whyNotExtra(ctx context.Context, t *database.Tx, app string, start int64, again bool) (string, error) {
	var number uint64
	var state proto.InstanceState
	err := s.db.Query(`SELECT number, state FROM schedule_instances WHERE app = ? AND period_start = ?`,
		app, start).Row(ctx, t, &number, &state)
	if err == nil {
		return fmt.Sprintf("instance %d of this period is %s", number, state), nil
	}
	if !errors.Is(err, ErrNotFound) || again {
		return "", ignoreNotFound(err)
	}
	done, err := s.succeeded(ctx, t, app, start)
	if err != nil || !done {
		return "", err
	}
	return "it has SUCCEEDED", nil
}

func ignoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
