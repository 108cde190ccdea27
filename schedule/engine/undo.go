package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/ledger"
	"github.com/treadle-run/treadle/schedule/store"
)

// maxUndos is how many instances of an app are looked at for an undo that fails.
const maxUndos = 1000

// Undos has undos that keep failing tried now, or abandoned.
type Undos struct {
	store    *store.Store
	apps     *ledger.Apps
	clock    *clock
	finisher *finisher
	log      *slog.Logger
	fetchNow chan<- struct{}
}

// UndoInstance has an undo that keeps failing tried now, or abandoned: then the instance
// is FAILED, and what it left stays. user is who asks.
func (u *Undos) UndoInstance(ctx context.Context, app string, req proto.UndoInstance, user string) error {
	if req.Do != proto.UndoRetry && req.Do != proto.UndoGiveUp {
		return proto.Errorf(proto.CodeInvalid, "do: expected %q or %q, got %q", proto.UndoRetry, proto.UndoGiveUp, req.Do)
	}
	if _, err := u.store.App(ctx, app); err != nil {
		return ledger.ForUser(err, app)
	}
	for range maxReloads {
		in, err := u.failingUndo(ctx, app, req.Instance)
		if err != nil {
			return err
		}
		if req.Do == proto.UndoRetry {
			err = u.store.RetryUndo(ctx, in.InstanceSpecifier)
		} else {
			err = u.abandon(ctx, in, user)
		}
		if errors.Is(err, store.ErrNotUpdated) {
			continue // a member has just started it
		}
		if err != nil {
			return ledger.ForUser(err, app)
		}
		u.log.Info("undo of an instance", "instance", in.Name, "do", req.Do, "user", user)
		wait.Nudge(u.fetchNow)
		return nil
	}
	return ledger.ForUser(store.ErrNotUpdated, app)
}

// failingUndo finds an instance whose undo failed and is to be tried again.
func (u *Undos) failingUndo(ctx context.Context, app, name string) (proto.Instance, error) {
	list, err := u.store.Instances(ctx, store.InstanceFilter{App: app, Limit: maxUndos, States: []proto.InstanceState{
		proto.InstanceToUndo, proto.InstanceUndoing}})
	if err != nil {
		return proto.Instance{}, ledger.ForUser(err, app)
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

func (u *Undos) abandon(ctx context.Context, in proto.Instance, user string) error {
	app, err := u.apps.Get(ctx, in.App)
	if err != nil {
		return err
	}
	// The next instance is made by the database's clock, also by an engine that does not run.
	sent := time.Now()
	now, err := u.store.Now(ctx)
	if err != nil {
		return err
	}
	u.clock.set(now, sent, time.Now())
	said := "; its undo was abandoned by " + user
	reason := in.Reason
	if limit := maxReason - len(said); len(reason) > limit {
		reason = strings.ToValidUTF8(reason[:limit], "")
	}
	return u.finisher.finish(ctx, app, in, proto.InstanceFailed, reason+said, nil)
}
