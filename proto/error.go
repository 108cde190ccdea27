package proto

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code classes an error by what the caller can do about it.
type Code string

// The codes; HTTPStatus has the status of each.
const (
	CodeInvalid       Code = "invalid"       // bad input: change it
	CodeUnauthorized  Code = "unauthorized"  // say who you are
	CodeForbidden     Code = "forbidden"     // you may not
	CodeNotFound      Code = "not-found"     // no such thing
	CodeMethod        Code = "method"        // the path does not have that method
	CodeConflict      Code = "conflict"      // not in this state, or no longer yours
	CodeTimeout       Code = "timeout"       // the call did not come in time
	CodeTooLarge      Code = "too-large"     // over a limit
	CodeMediaType     Code = "media-type"    // the body is not JSON
	CodeMisdirected   Code = "misdirected"   // the Host is not a name of this service
	CodeUnprocessable Code = "unprocessable" // well formed, but the work cannot be made of it
	CodeUnavailable   Code = "unavailable"   // try again later
	CodeInternal      Code = "internal"      // our fault
)

var httpStatus = map[Code]int{
	CodeInvalid:       http.StatusBadRequest,
	CodeUnauthorized:  http.StatusUnauthorized,
	CodeForbidden:     http.StatusForbidden,
	CodeNotFound:      http.StatusNotFound,
	CodeMethod:        http.StatusMethodNotAllowed,
	CodeConflict:      http.StatusConflict,
	CodeTimeout:       http.StatusRequestTimeout,
	CodeTooLarge:      http.StatusRequestEntityTooLarge,
	CodeMediaType:     http.StatusUnsupportedMediaType,
	CodeMisdirected:   http.StatusMisdirectedRequest,
	CodeUnprocessable: http.StatusUnprocessableEntity,
	CodeUnavailable:   http.StatusServiceUnavailable,
	CodeInternal:      http.StatusInternalServerError,
}

// HTTPStatus returns the HTTP status of the code.
func (c Code) HTTPStatus() int {
	if s, ok := httpStatus[c]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// CodeOf returns the code of an HTTP status. A 4xx that has no code of its own
// is CodeInvalid, every other status CodeInternal.
func CodeOf(status int) Code {
	for c, s := range httpStatus {
		if s == status {
			return c
		}
	}
	if status == http.StatusBadGateway || status == http.StatusGatewayTimeout || status == http.StatusTooManyRequests {
		return CodeUnavailable
	}
	if status >= 400 && status < 500 {
		return CodeInvalid
	}
	return CodeInternal
}

// Error is the one error type that crosses package and process borders: what it
// says is meant for the user.
type Error struct {
	Code    Code
	Message string // for the user: what was wrong, where, and what to do
	// RequestID is the request that the error is about, if any.
	RequestID string
	// RetryAfter is how long to wait before another try, if that may help.
	RetryAfter time.Duration
	// Err is the cause. It is logged, never shown to a user.
	Err error
}

// Errorf returns an Error with a message for the user.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error returns the message, and the cause if there is one.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ForRequest returns a copy of e about the request.
func (e *Error) ForRequest(id string) *Error {
	c := *e
	c.RequestID = id
	return &c
}

// ErrorCode returns the code of the first Error in err's chain, and CodeInternal
// if there is none.
func ErrorCode(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// ErrorBody is the body of every answer that is not a success.
type ErrorBody struct {
	Message    string `json:"message"`
	RequestID  string `json:"requestId"`
	HTTPStatus int    `json:"httpStatus"`
}

// Body returns what is shown of err to a caller, with its status. An error
// that is no Error is "internal error": it may hold what users must not see. What a
// message repeats of a long input is cut.
func Body(err error) ErrorBody {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return ErrorBody{Message: "internal error", HTTPStatus: http.StatusInternalServerError}
	}
	return ErrorBody{Message: excerptMessage(e.Message), RequestID: e.RequestID, HTTPStatus: e.Code.HTTPStatus()}
}
