package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/treadle-run/treadle/internal/database"
)

// AppIncludingDeleted returns an app, and whether it is deleted: what ran of it then still has to
// end. The error is ErrNotFound if there never was one.
func (s *Store) AppIncludingDeleted(ctx context.Context, name string) (row AppRow, deleted bool, err error) {
	op := "app " + name
	list, err := s.appRows(ctx, op, s.db.Query("SELECT "+appColumns+" FROM schedule_apps WHERE name = ?", name))
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: %w", op, ErrNotFound)
	}
	if err != nil {
		return AppRow{}, false, err
	}
	err = s.db.Do(ctx, op, func(ctx context.Context) error {
		return s.db.Query("SELECT deleted_at IS NOT NULL FROM schedule_apps WHERE name = ?", name).Row(ctx, s.db.Reader, &deleted)
	})
	return list[0], deleted, err
}

// AddNext makes the recurring instance that comes next, of an app that has none. The
// error is ErrStaleApp if the app is deleted or of another generation.
func (s *Store) AddNext(ctx context.Context, app string, generation uint64, n NewInstance) error {
	return s.db.InTxOnce(ctx, "next instance of app "+app, appToken(app), func(ctx context.Context, t *database.Tx) error {
		err := s.db.Query(`UPDATE schedule_apps SET change_token = ?, last_number = last_number + 1
			WHERE name = ? AND generation = ? AND deleted_at IS NULL`, t.Token, app, generation).ExecOne(ctx, t)
		if errors.Is(err, ErrNotUpdated) {
			return ErrStaleApp
		}
		if err != nil {
			return err
		}
		return s.insertNext(ctx, t, app, &n)
	})
}
