package request

import (
	"errors"
	"strings"

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
	if e := store.ForUser(err); e != nil {
		e.RequestID = requestID
		return e
	}
	e := &proto.Error{Code: proto.CodeInternal, Message: "internal error", RequestID: requestID, Err: err}
	switch {
	case errors.Is(err, store.ErrNotFound):
		e.Code, e.Message = proto.CodeNotFound, "no request with that id"
	case errors.Is(err, store.ErrNotUpdated):
		e.Code, e.Message = proto.CodeConflict, "the request is not in a state that allows this, or no longer with this epoch"
	case errors.Is(err, store.ErrRunnerGone):
		e.Code, e.Message = proto.CodeConflict, "this job runner was declared dead, and its requests were recovered: register under another id"
	}
	return e
}

// createError is storeError for a request that was to be created: if the database does
// not answer, it may have been, and only the same key tells.
func createError(err error) error {
	err = storeError(err, "")
	e, ok := errors.AsType[*proto.Error](err)
	if !ok || e.Code != proto.CodeUnavailable || strings.Contains(e.Message, "Idempotency-Key") {
		return err
	}
	hinted := *e
	hinted.Message = strings.TrimSuffix(e.Message, "; try again") + "; try again with the same Idempotency-Key: the request may have been created"
	return &hinted
}
