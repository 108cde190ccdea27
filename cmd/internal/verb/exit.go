package verb

import (
	"errors"
	"fmt"

	"github.com/treadle-run/treadle/proto"
)

// The exit codes, as the help of the program lists them.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitUnreachable = 3
	ExitInterrupted = 130
)

// ExitError ends the program with the exit code Code. Without Err, nothing more is
// printed.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Usagef returns an error for bad input.
func Usagef(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Exit returns an error that ends the program with the code and prints nothing.
func Exit(code int) error {
	if code == ExitOK {
		return nil
	}
	return &ExitError{Code: code}
}

var exitOfCode = map[proto.Code]int{
	proto.CodeInvalid:       ExitUsage,
	proto.CodeNotFound:      ExitUsage,
	proto.CodeMethod:        ExitUsage,
	proto.CodeTooLarge:      ExitUsage,
	proto.CodeUnprocessable: ExitUsage,
	proto.CodeUnavailable:   ExitUnreachable,
}

// ExitCode is the exit code that err ends the program with.
func ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Code
	}
	if code, ok := exitOfCode[proto.ErrorCode(err)]; ok {
		return code
	}
	return ExitFailed
}
