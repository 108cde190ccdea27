package httpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-resty/resty/v2"

	"github.com/treadle-run/treadle/proto"
)

// noAnswer is the error of a call that got no answer. ctx is that of the caller.
func (c *Client) noAnswer(ctx context.Context, base string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("asking the %s at %s: %w", c.cfg.Service, base, context.Cause(ctx))
	}
	if errors.Is(err, resty.ErrResponseBodyTooLarge) {
		return &proto.Error{Code: proto.CodeTooLarge, Message: fmt.Sprintf("the answer of the %s at %s is larger than %d MiB", c.cfg.Service, base, answerLimit>>20), Err: err}
	}
	message := fmt.Sprintf("cannot reach the %s at %s", c.cfg.Service, base)
	if errors.Is(err, context.DeadlineExceeded) {
		message = fmt.Sprintf("the %s at %s did not answer in time", c.cfg.Service, base)
	}
	return &proto.Error{Code: proto.CodeUnavailable, Message: message, Err: err}
}

// refused is the error of a call that was answered with an error, or with
// something else that is no success.
func (c *Client) refused(base string, status int, h http.Header, body []byte) error {
	e := &proto.Error{Code: proto.CodeOf(status)}
	if seconds, err := strconv.Atoi(h.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	var b proto.ErrorBody
	if err := json.Unmarshal(body, &b); err == nil && b.Message != "" {
		e.Message, e.RequestID = b.Message, b.RequestID
		return e
	}
	e.Message = fmt.Sprintf("the %s at %s answered %d %s", c.cfg.Service, base, status, http.StatusText(status))
	return e
}

// Retries of calls that may be repeated: tries in all, and the limit that any wait
// may take, whatever the service asks for.
const (
	tries   = 4
	maxWait = 5 * time.Second
)

// retry makes a call again while what is wrong may pass. It returns the error of
// the last try.
func retry(ctx context.Context, once func() error) error {
	var last error
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval, waits.MaxInterval = 100*time.Millisecond, maxWait
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		if last = once(); last == nil {
			return struct{}{}, nil
		}
		e, ok := errors.AsType[*proto.Error](last)
		if !ok || e.Code != proto.CodeUnavailable {
			return struct{}{}, backoff.Permanent(last)
		}
		if e.RetryAfter > 0 {
			return struct{}{}, &backoff.RetryAfterError{Duration: min(e.RetryAfter, maxWait)}
		}
		return struct{}{}, last
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(time.Minute))
	if err == nil {
		return nil
	}
	return last
}
