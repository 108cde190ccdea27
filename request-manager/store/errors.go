package store

import (
	"errors"
	"fmt"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// Errors of the database, which callers of the store meet; see there.
var (
	ErrNotFound        = database.ErrNotFound
	ErrNotUpdated      = database.ErrNotUpdated
	ErrUnavailable     = database.ErrUnavailable
	ErrDiskFull        = database.ErrDiskFull
	ErrReadOnly        = database.ErrReadOnly
	ErrNoSecretsKey    = database.ErrNoSecretsKey
	ErrWrongSecretsKey = database.ErrWrongSecretsKey
)

var (
	// ErrRunnerGone says that a runner was declared dead: it must register as another one.
	ErrRunnerGone = errors.New("the runner was declared dead")
	// ErrNotCounted is what CheckOptions.Replay returns where it does not want to.
	ErrNotCounted = errors.New("not counted")
)

// KeyTakenError says that an idempotency key was used before. Nothing of the batch
// was stored.
type KeyTakenError struct {
	// Index is the place in the batch of the first request whose key is taken.
	Index int
}

func (e *KeyTakenError) Error() string {
	return fmt.Sprintf("the idempotency key of request %d of the batch is taken", e.Index)
}

// ForUser is database.ForUser.
func ForUser(err error) *proto.Error { return database.ForUser(err) }
