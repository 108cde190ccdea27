package store

import (
	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// Errors of the database, which callers of the store meet; see there.
var (
	ErrNotFound    = database.ErrNotFound
	ErrNotUpdated  = database.ErrNotUpdated
	ErrUnavailable = database.ErrUnavailable
)

// ForUser is database.ForUser.
func ForUser(err error) *proto.Error { return database.ForUser(err) }
