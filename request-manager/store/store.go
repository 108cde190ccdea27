package store

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/internal/database"
)

// Store is what is kept of requests in a database. Its methods may be called from many
// goroutines.
type Store struct{ db *database.DB }

// New returns the store in a database, which the caller migrates and closes.
func New(db *database.DB) *Store { return &Store{db} }

// Ping reports whether the database answers. It tries once.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Now returns the time by the database's clock, in UTC, to the microsecond.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.db.Now(ctx) }

// Fingerprint identifies a text, see database.DB.
func (s *Store) Fingerprint(text []byte) []byte { return s.db.Fingerprint(text) }
