package store

import (
	"context"
	"errors"
)

// AppsVersion returns the number of the state that all definitions of apps are in. Each
// change of one counts it. What is checked after it was read is stored only if it is
// still the same: no other call can have changed what it was checked against.
func (s *Store) AppsVersion(ctx context.Context) (uint64, error) {
	var n uint64
	err := s.do(ctx, "version of the apps", func(ctx context.Context, _ int) error {
		return s.q("SELECT apps_version FROM schedule_settings WHERE id = 1").row(ctx, s.write, &n)
	})
	return n, err
}

// countVersion counts a change of a definition. All that change one write this row: on a
// cluster, too, one of two at the same time fails. The error is ErrAppsChanged if the
// version is not the given one; 0 is any.
func (t *tx) countVersion(ctx context.Context, version uint64) error {
	q := t.s.q("UPDATE schedule_settings SET apps_version = apps_version + 1 WHERE id = 1")
	if version != 0 {
		q.add(" AND apps_version = ?", version)
	}
	err := q.execOne(ctx, t)
	if errors.Is(err, ErrNotUpdated) && version != 0 {
		return ErrAppsChanged
	}
	return err
}
