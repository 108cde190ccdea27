package store

import (
	"context"
	"errors"
	"fmt"
)

// AnyApp returns an app, and whether it is deleted: what ran of it then still has to
// end. The error is ErrNotFound if there never was one.
func (s *Store) AnyApp(ctx context.Context, name string) (row AppRow, deleted bool, err error) {
	op := "app " + name
	list, err := s.appRows(ctx, op, s.q("SELECT "+appColumns+" FROM schedule_apps WHERE name = ?", name))
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: %w", op, ErrNotFound)
	}
	if err != nil {
		return AppRow{}, false, err
	}
	err = s.do(ctx, op, func(ctx context.Context, _ int) error {
		return s.q("SELECT deleted_at IS NOT NULL FROM schedule_apps WHERE name = ?", name).row(ctx, s.read, &deleted)
	})
	return list[0], deleted, err
}

// AddNext makes the recurring instance that comes next, of an app that has none. The
// error is ErrStaleApp if the app is deleted or of another generation.
func (s *Store) AddNext(ctx context.Context, app string, generation uint64, n NewInstance) error {
	return s.inTx(ctx, "next instance of app "+app, func(ctx context.Context, t *tx) error {
		err := s.q(`UPDATE schedule_apps SET last_number = last_number + 1
			WHERE name = ? AND generation = ? AND deleted_at IS NULL`, app, generation).execOne(ctx, t)
		if errors.Is(err, ErrNotUpdated) {
			return ErrStaleApp
		}
		if err != nil {
			return err
		}
		return t.insertNext(ctx, app, &n)
	})
}
