package database

import (
	"errors"
	"fmt"
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
	// ErrNoSecretsKey says that a chain is, or must be, encrypted and that the database
	// was opened without Config.SecretsKey.
	ErrNoSecretsKey = errors.New("no secrets key is configured")
	// ErrWrongSecretsKey says that a chain was encrypted with another key, or
	// damaged.
	ErrWrongSecretsKey = errors.New("encrypted with another secrets key, or damaged")
)
