package request

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// storeError turns an error of the store into one for the user.
func storeError(err error, requestID string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*proto.Error](err); ok {
		return err
	}
	e := &proto.Error{Code: proto.CodeInternal, Message: "internal error", RequestID: requestID, Err: err}
	switch {
	case errors.Is(err, store.ErrNotFound):
		e.Code, e.Message = proto.CodeNotFound, "no request with that id"
	case errors.Is(err, store.ErrNotUpdated):
		e.Code, e.Message = proto.CodeConflict, "the request is not in a state that allows this, or no longer with this epoch"
	case errors.Is(err, store.ErrRunnerGone):
		e.Code, e.Message = proto.CodeConflict, "this job runner was given up, and what it had went elsewhere: register under another id"
	case errors.Is(err, store.ErrDiskFull):
		e.Code, e.Message, e.RetryAfter = proto.CodeUnavailable, "the disk of the database is full: nothing can be stored", 10*time.Second
	case errors.Is(err, context.DeadlineExceeded):
		e.Code, e.Message, e.RetryAfter = proto.CodeUnavailable, "the database did not answer in time; try again", time.Second
	case errors.Is(err, store.ErrUnavailable):
		e.Code, e.Message, e.RetryAfter = proto.CodeUnavailable, "the database does not answer; try again", time.Second
	}
	return e
}

// delivery is what is known of something that was sent to a runner.
type delivery uint8

const (
	delivered delivery = iota // the runner has it
	refused                   // the runner does not have it
	unknown                   // no answer: it may have it
)

// deliveryOf reads the outcome off the error of a JobRunners call.
func deliveryOf(err error) delivery {
	if err == nil {
		return delivered
	}
	if isUnsent(err) {
		return refused
	}
	if e, ok := errors.AsType[*proto.Error](err); ok && e.Err == nil && e.Code != proto.CodeInternal {
		return refused
	}
	return unknown
}

// isUnsent reports whether a call failed before anything was sent.
func isUnsent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// isAnother reports whether who answered is not the runner that was meant.
func isAnother(err error) bool {
	e, ok := errors.AsType[*proto.Error](err)
	return ok && e.Err == nil && e.Code == proto.CodeNotFound
}

// isUnfit reports whether a runner refused because of what was sent: it will be the
// same with any other runner, and at any other time.
func isUnfit(err error) bool {
	e, ok := errors.AsType[*proto.Error](err)
	if !ok || e.Err != nil {
		return false
	}
	return e.Code == proto.CodeInvalid || e.Code == proto.CodeTooLarge || e.Code == proto.CodeUnprocessable
}
