package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Hook is what instances do. Its methods are called for one instance at a time, may
// be called again after they were cut off, on another member too, and must return
// soon: what takes longer is started and looked at again. They end when ctx does.
type Hook interface {
	// Ready reports whether an instance that is due can start now, and if not, why not.
	Ready(ctx context.Context, in proto.Instance) (ok bool, reason string)
	// Run does the work, or starts it, or looks at what it started. An error means that
	// this is not known now: it is called again later.
	Run(ctx context.Context, app proto.App, in proto.Instance) (Outcome, error)
	// Undo takes back what an instance left that failed, as Run does its work. An
	// Outcome that is Done and not OK is an undo that failed: it is tried again later,
	// and in.UndoTries counts.
	Undo(ctx context.Context, app proto.App, in proto.Instance) (Outcome, error)
}

// Stopper is a Hook that can end what takes too long. Without it, an instance that has
// not ended by its timeout fails, whatever still runs of it.
type Stopper interface {
	// Stop is called in the place of Run once the timeout of the instance has passed.
	Stop(ctx context.Context, app proto.App, in proto.Instance) (Outcome, error)
}

// Knower is a Hook of a member that may be older than the definition of an app: while
// members with newer ones come, it does not know all that instances do.
type Knower interface {
	// Unknown names what an instance would do next and is not known here; "" if that is
	// known.
	Unknown(app proto.App, in proto.Instance) string
}

// Outcome is what is known of an instance after a call of a Hook.
type Outcome struct {
	// Done says that the work has ended, OK that it ended well.
	Done, OK bool
	// Reason says why it failed, or what it waits for.
	Reason string
	// Result is a JSON object that dependent instances get, or nothing.
	Result json.RawMessage

	// RequestID is the request that was started, if any. It is stored with the instance
	// as its request, or the request of its undo.
	RequestID string
	// WaitsFor is the request whose end it waits for: see Engine.Ended.
	WaitsFor string
	// CheckAfter is when to look again, if nothing wakes the instance before; 0 is a
	// default.
	CheckAfter time.Duration
}
