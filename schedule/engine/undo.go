package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// UndoInstance has an undo that keeps failing tried now, or given up: then the instance
// is FAILED, and what it left stays. user is who asks.
func (e *Engine) UndoInstance(ctx context.Context, app string, u proto.UndoInstance, user string) error {
	if u.Do != proto.UndoRetry && u.Do != proto.UndoGiveUp {
		return proto.Errorf(proto.CodeInvalid, "do: expected %q or %q, got %q", proto.UndoRetry, proto.UndoGiveUp, u.Do)
	}
	if _, err := e.store.App(ctx, app); err != nil {
		return storeError(err, app)
	}
	for range maxReloads {
		in, err := e.failingUndo(ctx, app, u.Instance)
		if err != nil {
			return err
		}
		if u.Do == proto.UndoRetry {
			err = e.store.RetryUndo(ctx, in.InstanceSpecifier)
		} else {
			err = e.giveUpUndo(ctx, in, user)
		}
		if errors.Is(err, store.ErrNotUpdated) {
			continue // somebody has just begun with it
		}
		if err != nil {
			return storeError(err, app)
		}
		e.log.Info("undo of an instance", "instance", in.Name, "do", u.Do, "user", user)
		wait.Nudge(e.fetchWake)
		return nil
	}
	return storeError(store.ErrNotUpdated, app)
}

// failingUndo finds an instance whose undo failed and is to be tried again.
func (e *Engine) failingUndo(ctx context.Context, app, name string) (proto.Instance, error) {
	list, err := e.store.Instances(ctx, store.InstanceFilter{App: app, Limit: maxList, States: []proto.InstanceState{
		proto.InstanceToUndo, proto.InstanceUndoing}})
	if err != nil {
		return proto.Instance{}, storeError(err, app)
	}
	for _, in := range list {
		switch {
		case in.Name != name:
		case in.State == proto.InstanceUndoing && in.UndoRequestID != "":
			return in, proto.Errorf(proto.CodeConflict, "the undo of %s is under way, as request %s: stop that first", name, in.UndoRequestID)
		case in.State == proto.InstanceUndoing || in.Member != "" || in.UndoTries == 0:
			return in, proto.Errorf(proto.CodeConflict, "the undo of %s is under way", name)
		default:
			return in, nil
		}
	}
	return proto.Instance{}, proto.Errorf(proto.CodeNotFound, "app %s has no instance %q that is being undone", app, name)
}

func (e *Engine) giveUpUndo(ctx context.Context, in proto.Instance, user string) error {
	job, err := e.jobs.get(ctx, in.App)
	if err != nil {
		return err
	}
	// The next instance is made by the database's clock, also by an engine that does not run.
	sent := time.Now()
	now, err := e.store.Now(ctx)
	if err != nil {
		return err
	}
	e.clock.set(now, sent, time.Now(), e.member.tolerance())
	said := "; its undo was given up by " + user
	reason := in.Reason
	if most := maxReason - len(said); len(reason) > most {
		reason = strings.ToValidUTF8(reason[:most], "")
	}
	w := &work{r: newRunner(e), job: job, in: in}
	return w.finish(ctx, proto.InstanceFailed, reason+said, Outcome{})
}
