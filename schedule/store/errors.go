package store

import (
	"github.com/treadle-run/treadle/internal/database"
)

// Errors of the database, which callers of the store meet; see there.
var (
	ErrNotFound    = database.ErrNotFound
	ErrNotUpdated  = database.ErrNotUpdated
	ErrUnavailable = database.ErrUnavailable
)
