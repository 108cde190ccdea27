package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Values is a set of named JSON values; see proto.Values for the types of them.
type Values = proto.Values

// Job is one unit of work. It is the least that a job type must have; Declarer,
// Creator, Statuser, Graceful, encoding.BinaryMarshaler and
// encoding.BinaryUnmarshaler are optional.
//
// Each try runs on a value of its own, in a goroutine of its own. Several tries
// of one job never run at the same time.
type Job interface {
	// Run does one try. Data has what jobs before this one set when they ran; it
	// must not be changed.
	//
	// A nil error is success. If ctx ends, the job must stop and return soon: its
	// try then counts as stopped if the error is not nil, as complete if it is.
	// What InfoOf(ctx) says lets a job fence its side effects.
	Run(ctx context.Context, data Values) (Result, error)
}

// Creator is a Job that reads or sets args when its request is created, in the
// Request Manager, before anything runs. A job type without Create has its
// exported fields filled from the args instead, by their JSON names.
type Creator interface {
	// Create gets the args that the node of the spec lists: what a Declarer declares of
	// them has been checked. Keys that it sets can be
	// taken over by the `sets` of the node. An error ends the creation of the
	// request; for a bad arg it should be an ArgError. Create must not do the work:
	// requests are created and never run, and may be created just to be looked at.
	Create(ctx context.Context, args Values) error
}

// Statuser is a Job that can say what it is doing while Run runs. Status is
// called from another goroutine, and must return at once.
type Statuser interface {
	Status() string
}

// Sleeper is a Job that does nothing but wait. A Job Runner asks it for how long
// instead of calling Run, and keeps the wait itself: a job that waits then costs
// no goroutine, so that there may be a hundred thousand of them. The try is
// complete when the time is over.
type Sleeper interface {
	// Sleep is called once, when the try starts, and must return at once.
	Sleep() time.Duration
}

// Graceful is a Job that may need long to end when it is told to stop. A runner
// abandons other jobs that have not returned after 15 s.
type Graceful interface {
	// Grace is for how long Run may go on after its context has ended. It is called from
	// another goroutine, and must return at once.
	Grace() time.Duration
}

// Result is what a try gives beside its error.
type Result struct {
	// Exit is the exit code of a command; shown, never judged.
	Exit int64
	// Stdout and Stderr are kept in the job log byte for byte.
	Stdout, Stderr []byte
	// Data is set for all jobs that come after this one. It counts only if the try
	// succeeds.
	Data Values
}

// Info says which try of which job a context belongs to. In Create, only
// RequestID, JobID, Name and Type are set.
type Info struct {
	RequestID string
	JobID     string
	Name      string // of the node in the spec
	Type      string
	Try       uint   // 1, 2, ... over all tries of the job
	Epoch     uint64 // hand-over of the request to a runner; only grows
	Args      Values // what the job was created with; must not be changed
}

// ErrInterrupted in the error of a try says that neither the job nor its user
// ended it: the try counts as stopped, not as failed, and runs again. If it must
// not run twice (`idempotent: false`), the request ends as failed, whatever tries
// the job has left.
var ErrInterrupted = errors.New("interrupted")

// ErrLeaseLost is the cause that the context of a job ends with when its runner
// has lost the right to run jobs, because no Request Manager answered. Other
// runners may go on with the request a few seconds later: what the job started
// must have ended by then.
var ErrLeaseLost = fmt.Errorf("%w: the runner lost its lease", ErrInterrupted)

type infoKey struct{}

// WithInfo returns a context that carries info.
func WithInfo(ctx context.Context, info *Info) context.Context {
	return context.WithValue(ctx, infoKey{}, info)
}

// InfoOf returns the Info of the try or creation that ctx belongs to, and an
// empty one for any other context.
func InfoOf(ctx context.Context) Info {
	if info, ok := ctx.Value(infoKey{}).(*Info); ok {
		return *info
	}
	return Info{}
}

// ArgError says that an arg has a value that a job type cannot work with.
type ArgError struct {
	Arg     string
	Message string // what was expected, and what was found
}

// Error names the arg and says what is wrong with it.
func (e *ArgError) Error() string { return fmt.Sprintf("arg %s: %s", e.Arg, e.Message) }

// ArgErrorf returns an ArgError for arg.
func ArgErrorf(arg, format string, args ...any) *ArgError {
	return &ArgError{Arg: arg, Message: fmt.Sprintf(format, args...)}
}

// PanicError is what a panic of a job is turned into.
type PanicError struct {
	Call  string // "Create", "Run", ...
	Value any
	Stack []byte
}

// Error says which call panicked, with what, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic in %s: %v", e.Call, e.Value) }
