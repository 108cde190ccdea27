package httpjson

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/proto"
)

// panicError is a panic of a handler.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// recovery turns a panic of a handler into an error.
func recovery(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			v := recover()
			if e, ok := v.(error); ok && errors.Is(e, http.ErrAbortHandler) { // net/http's own way to cut a connection
				panic(v)
			}
			if v != nil {
				err = &panicError{value: v, stack: debug.Stack()}
			}
		}()
		return next(c)
	}
}

// errorHandler answers an error as proto.ErrorBody and logs those that are ours.
func errorHandler(log *slog.Logger) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		err = known(err, c)
		body := proto.Body(err)
		if id := c.Param("id"); body.RequestID == "" && ValidRequestID(id) {
			body.RequestID = id
		}
		logError(log, c, err, body)
		if c.Response().Committed {
			return
		}
		if body.HTTPStatus == http.StatusServiceUnavailable {
			c.Response().Header().Set(echo.HeaderRetryAfter, retryAfter(err))
		}
		if werr := JSON(c, body.HTTPStatus, body); werr != nil {
			log.Debug("cannot send an error answer", "err", werr)
		}
	}
}

// known turns errors of the router and of contexts into ones that have a message
// for the user.
func known(err error, c echo.Context) error {
	if _, ok := errors.AsType[*proto.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*panicError](err); ok {
		return err
	}
	r := c.Request()
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch e.Code {
		case http.StatusNotFound:
			return proto.Errorf(proto.CodeNotFound, "no such path: %s", r.URL.Path)
		case http.StatusMethodNotAllowed:
			return proto.Errorf(proto.CodeMethod, "%s is not allowed here, only %s", r.Method, c.Response().Header().Get(echo.HeaderAllow))
		}
		return proto.Errorf(proto.CodeOf(e.Code), "%v", e.Message)
	}
	if errors.Is(err, context.DeadlineExceeded) || r.Context().Err() != nil {
		return &proto.Error{Code: proto.CodeUnavailable, Message: "it took too long: try again", Err: err}
	}
	return err
}

// retryAfter returns how long to wait, in whole seconds and at least one.
func retryAfter(err error) string {
	wait := time.Second
	if e, ok := errors.AsType[*proto.Error](err); ok && e.RetryAfter > wait {
		wait = e.RetryAfter
	}
	return strconv.Itoa(int(math.Ceil(wait.Seconds())))
}

// logError logs what an operator must know of: errors that are our fault with all
// we know, a dependency that is unavailable as a warning. Errors of callers are not
// logged.
func logError(log *slog.Logger, c echo.Context, err error, body proto.ErrorBody) {
	ctx := c.Request().Context()
	p, panicked := errors.AsType[*panicError](err)
	if (ctx.Err() != nil || c.Response().Committed) && !panicked {
		log.Debug("an answer was not sent in full: the caller went away", "method", c.Request().Method, "route", c.Path(), "err", err)
		return
	}
	attrs := []any{"method", c.Request().Method, "route", c.Path(), "request", body.RequestID, "err", err}
	switch body.HTTPStatus {
	case http.StatusInternalServerError:
		if panicked {
			attrs = append(attrs, "stack", string(p.stack))
		}
		log.ErrorContext(ctx, "internal error", attrs...)
	case http.StatusServiceUnavailable:
		if errors.Unwrap(err) != nil {
			log.WarnContext(ctx, "unavailable", attrs...)
		}
	}
}
