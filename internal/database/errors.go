package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/proto"
)

var (
	// ErrNotFound says that there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrNotUpdated says that the row is not in the state, or not under the epoch,
	// that the change starts from: it is no longer the caller's.
	ErrNotUpdated = errors.New("not updated: no longer in that state or under that epoch")
	// ErrMultipleUpdated says that a change met more rows than one. It was taken
	// back. It cannot be, unless the schema is damaged.
	ErrMultipleUpdated = errors.New("more than one row updated")
	// ErrUnavailable says that the database cannot be reached or used now, and that
	// the tries are used up.
	ErrUnavailable = errors.New("database unavailable")
	// ErrDiskFull is an ErrUnavailable: the database has no room to write to.
	ErrDiskFull = fmt.Errorf("%w: its disk is full", ErrUnavailable)
	// ErrReadOnly is an ErrUnavailable: the database, its server or its file can only be
	// read.
	ErrReadOnly = fmt.Errorf("%w: it can only be read", ErrUnavailable)
	// ErrDenied is an ErrUnavailable: the user of the database may not do this, or not
	// log in.
	ErrDenied = fmt.Errorf("%w: its user may not do this", ErrUnavailable)
	// ErrNoSecretsKey says that a chain is, or must be, encrypted and that the database
	// was opened without Config.SecretsKey.
	ErrNoSecretsKey = errors.New("no secrets key is configured")
	// ErrWrongSecretsKey says that a chain was encrypted with another key, or
	// damaged.
	ErrWrongSecretsKey = errors.New("encrypted with another secrets key, or damaged")
)

// ForUser returns what users are told of an error that is the database's and may pass,
// and nil for any other.
func ForUser(err error) *proto.Error {
	e := &proto.Error{Code: proto.CodeUnavailable, RetryAfter: 10 * time.Second, Err: err}
	switch {
	case errors.Is(err, ErrDiskFull):
		e.Message = "the disk of the database is full: nothing can be stored"
	case errors.Is(err, ErrReadOnly):
		e.Message = "the database can only be read: nothing can be stored"
	case errors.Is(err, ErrDenied):
		e.Message = "the database refuses its user: the user needs the right to read, write and delete"
	case errors.Is(err, context.DeadlineExceeded):
		e.Message, e.RetryAfter = "the database did not answer in time; try again", time.Second
	case errors.Is(err, ErrUnavailable):
		e.Message, e.RetryAfter = "the database is unavailable; try again", time.Second
	default:
		return nil
	}
	return e
}
