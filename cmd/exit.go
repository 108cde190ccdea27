package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/treadle-run/treadle/proto"
)

// The exit codes; rootLong tells users.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitInterrupted = 130
)

// exitError ends the program with a code of its own. Without err, all there is
// to say has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageErrorf returns an error of the user's.
func usageErrorf(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// silentExit ends the program with the code, without a message.
func silentExit(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// exitOfState is the exit code of a request that was waited for.
func exitOfState(s proto.State) int {
	if s == proto.StateComplete {
		return exitOK
	}
	return exitFailed
}

var exitOfCode = map[proto.Code]int{
	proto.CodeInvalid:       exitUsage,
	proto.CodeNotFound:      exitUsage,
	proto.CodeMethod:        exitUsage,
	proto.CodeTooLarge:      exitUsage,
	proto.CodeUnprocessable: exitUsage,
	proto.CodeUnavailable:   exitUnreachable,
}

// exit prints err, if there is something to print, and returns the exit code.
func (p *program) exit(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	exitErr, isExit := errors.AsType[*exitError](err)
	if isExit && exitErr.err == nil {
		return exitErr.code
	}
	if !isExit && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		p.say("treadle: interrupted")
		return exitInterrupted
	}
	p.say("treadle: %s", message(err))
	if isExit {
		return exitErr.code
	}
	if code, ok := exitOfCode[proto.ErrorCode(err)]; ok {
		return code
	}
	return exitFailed
}

// message is what a user reads about err: of a proto.Error what is meant for
// users, and what to do.
func message(err error) string {
	e, ok := errors.AsType[*proto.Error](err)
	if !ok {
		return err.Error()
	}
	if e.Code == proto.CodeUnavailable && e.Err != nil {
		return e.Message + " (" + reason(e.Err) + "): start one with treadle dev, or name another with --addr"
	}
	return e.Message
}

// reason is the innermost cause: the outer ones repeat the address.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// say prints a line for the user that is no result.
func (p *program) say(format string, args ...any) {
	// If stderr is gone there is nowhere left to say so.
	_, _ = fmt.Fprintf(p.stderr, format+"\n", args...)
}
