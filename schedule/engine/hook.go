package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Hook does the work of instances. Its methods are called for one instance at a time, may
// be called again after they were cut off, on another member too, and must return soon:
// they start long work and look at it again. They end when ctx does.
type Hook interface {
	// Ready reports whether an instance that is due can start now, and if not, why not.
	Ready(ctx context.Context, in proto.Instance) (ok bool, reason string)
	// Run does the work, or starts it, or looks at what it started. An error means that
	// this is not known now: it is called again later.
	Run(ctx context.Context, app proto.App, in proto.Instance) (Outcome, error)
	// Undo takes back what a failed instance left, in the manner of Run. An Outcome that
	// is Done and not OK is an undo that failed: it is tried again later, and
	// in.UndoTries counts.
	Undo(ctx context.Context, app proto.App, in proto.Instance) (Outcome, error)
}

// Stopper is a Hook that can end what takes too long. Without it, an instance that has
// not ended by its timeout fails, whatever still runs of it.
type Stopper interface {
	// Stop is called in the place of Run once the timeout of the instance has passed.
	Stop(ctx context.Context, app proto.App, in proto.Instance) (Outcome, error)
}

// Knower is a Hook that may not know all requests: while newer specs are rolled out, members
// with older ones see apps that these do not declare.
type Knower interface {
	// Unknown names what an instance would do next, if that is not known here; else "".
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
