package store

import (
	"context"
	"errors"

	"github.com/treadle-run/treadle/internal/database"
)

// AppsVersion returns the number of the state that all definitions of apps are in. Each
// change of one counts it. What is checked after it was read is stored only if it is
// still the same: no other call can have changed what it was checked against.
func (s *Store) AppsVersion(ctx context.Context) (uint64, error) {
	var n uint64
	err := s.db.Do(ctx, "version of the apps", func(ctx context.Context) error {
		return s.db.Query("SELECT apps_version FROM schedule_settings WHERE id = 1").Row(ctx, s.db.Writer, &n)
	})
	return n, err
}

// countVersion counts a change of a definition. All that change one write this row: on a
// cluster, too, one of two at the same time fails. The error is ErrAppsChanged if the
// version is not the given one; 0 is any.
func (s *Store) countVersion(ctx context.Context, t *database.Tx, version uint64) error {
	q := s.db.Query("UPDATE schedule_settings SET apps_version = apps_version + 1 WHERE id = 1")
	if version != 0 {
		q.Add(" AND apps_version = ?", version)
	}
	err := q.ExecOne(ctx, t)
	if errors.Is(err, ErrNotUpdated) && version != 0 {
		return ErrAppsChanged
	}
	return err
}
