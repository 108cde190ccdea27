package client

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/treadle-run/treadle/internal/httpclient"
	"github.com/treadle-run/treadle/proto"
)

// watchTries is how often in a row Watch opens a stream that brings nothing.
const watchTries = 8

// errEnded ends a stream that has brought the final state.
var errEnded = errors.New("the request has ended")

// callbackError is an error of the caller's function.
type callbackError struct{ err error }

func (e *callbackError) Error() string { return e.err.Error() }

// Watch calls fn with the request as it is, and again whenever it changed, until
// it has ended (nil), fn returns an error (that error), or ctx ends. A stream
// that breaks is opened again: fn may then see the same twice, and states in
// between may be missed, the final one is not.
func (c *Client) Watch(ctx context.Context, id string, fn func(proto.Request) error) error {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval, waits.MaxInterval = 100*time.Millisecond, 5*time.Second
	for failed := 0; ; {
		came, err := c.stream(ctx, id, fn)
		if errors.Is(err, errEnded) {
			return nil
		}
		if e, ok := errors.AsType[*callbackError](err); ok {
			return e.err
		}
		if came {
			failed = 0
			waits.Reset()
		} else {
			failed++
		}
		mayPass := err == nil || proto.ErrorCode(err) == proto.CodeUnavailable
		if !mayPass || failed >= watchTries {
			return orBroken(err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(waits.NextBackOff()):
		}
	}
}

// stream reads one stream and reports whether it brought anything.
func (c *Client) stream(ctx context.Context, id string, fn func(proto.Request) error) (came bool, err error) {
	call := httpclient.Call{Method: "GET", Base: c.url, Path: requestPath(id, "/events")}
	err = c.http.Events(ctx, call, func(data []byte) error {
		var r proto.Request
		if err := json.Unmarshal(data, &r); err != nil {
			return &proto.Error{Code: proto.CodeInternal, Message: "the request manager sent an event that is not understood", Err: err}
		}
		came = true
		if err := fn(r); err != nil {
			return &callbackError{err}
		}
		if r.State.Final() {
			return errEnded
		}
		return nil
	})
	return came, err
}

// orBroken is the error of streams that ended again and again before the request
// did, which by itself is none.
func orBroken(err error) error {
	if err != nil {
		return err
	}
	return proto.Errorf(proto.CodeUnavailable, "the request manager ends the stream of events again and again")
}
