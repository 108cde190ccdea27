package store

import (
	"context"
	"errors"
	"fmt"

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
	var out, before []RunResult // before: of a try whose answer may have been lost
	var number uint64
	err := s.inTx(ctx, "extra instances of app "+app, func(ctx context.Context, t *tx) error {
		out = nil
		var last uint64
		err := s.q(`SELECT last_number FROM schedule_apps WHERE name = ? AND deleted_at IS NULL{lock}`, app).row(ctx, t, &last)
		if err != nil {
			return err
		}
		if before != nil {
			through, err := t.extraBefore(ctx, app, before, number)
			if through || err != nil {
				out = before
				return err
			}
		}
		before, number = nil, last
		for i := range list {
			r, err := t.extraInstance(ctx, app, &list[i], again)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		before = out
		return nil
	})
	return out, err
}

// extraInstance makes one instance; the app is locked.
func (t *tx) extraInstance(ctx context.Context, app string, n *NewInstance, again bool) (RunResult, error) {
	r := RunResult{Name: n.Name, PeriodStart: n.PeriodStart}
	var err error
	r.Why, err = t.whyNotExtra(ctx, app, n.PeriodStart.UnixMicro(), again)
	if err != nil || r.Why != "" {
		return r, err
	}
	err = t.s.q("UPDATE schedule_apps SET last_number = last_number + 1 WHERE name = ?", app).execOne(ctx, t)
	if err != nil {
		return r, err
	}
	extra := *n
	extra.Recurring = false
	r.Made = true
	return r, t.insertInstance(ctx, app, &extra)
}

func (t *tx) whyNotExtra(ctx context.Context, app string, start int64, again bool) (string, error) {
	var number uint64
	var state proto.InstanceState
	err := t.s.q(`SELECT number, state FROM schedule_instances WHERE app = ? AND period_start = ?`,
		app, start).row(ctx, t, &number, &state)
	if err == nil {
		return fmt.Sprintf("instance %d of this period is %s", number, state), nil
	}
	if !errors.Is(err, ErrNotFound) || again {
		return "", ignoreNotFound(err)
	}
	done, err := t.s.succeeded(ctx, t, app, start)
	if err != nil || !done {
		return "", err
	}
	return "it has SUCCEEDED", nil
}

// extraBefore reports whether the instances that an earlier try made are there: they
// have the numbers after that one.
func (t *tx) extraBefore(ctx context.Context, app string, made []RunResult, number uint64) (bool, error) {
	for _, r := range made {
		if !r.Made {
			continue
		}
		number++
		var n int
		err := t.s.q(`SELECT (SELECT COUNT(*) FROM schedule_instances WHERE app = ? AND number = ? AND period_start = ?)
			+ (SELECT COUNT(*) FROM schedule_archive WHERE app = ? AND number = ? AND period_start = ?)`,
			app, number, r.PeriodStart.UnixMicro(), app, number, r.PeriodStart.UnixMicro()).row(ctx, t, &n)
		return n > 0, err // one transaction made all of them
	}
	return false, nil
}

func ignoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
