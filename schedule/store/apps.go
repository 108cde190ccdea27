package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/internal/database"
)

const appColumns = `name, definition, source, paused, generation, since, last_number, active_number,
	deadline_at, deadline_start, created_at, updated_at`

func scanApp(scan func(...any) error) (AppRow, error) {
	var (
		a                       AppRow
		name                    string
		definition              []byte
		since, created, updated int64
		active                  sql.Null[uint64]
		deadlineAt, deadline    sql.NullInt64
	)
	err := scan(&name, &definition, &a.Source, &a.Paused, &a.Generation, &since, &a.LastNumber, &active,
		&deadlineAt, &deadline, &created, &updated)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(definition, &a.App); err != nil {
		return a, fmt.Errorf("stored definition of app %s: %w", name, err)
	}
	a.ActiveNumber = active.V
	a.Since, a.CreatedAt, a.UpdatedAt = database.FromMicros(since), database.FromMicros(created), database.FromMicros(updated)
	a.DeadlineAt, a.DeadlineStart = database.FromNullMicros(deadlineAt), database.FromNullMicros(deadline)
	return a, nil
}

func (s *Store) appRows(ctx context.Context, op string, q *database.Query) ([]AppRow, error) {
	var out []AppRow
	err := s.db.Do(ctx, op, func(ctx context.Context) error {
		out = nil
		return q.Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
			a, err := scanApp(scan)
			out = append(out, a)
			return err
		})
	})
	return out, err
}

// App returns an app that is not deleted; ErrNotFound if there is none.
func (s *Store) App(ctx context.Context, name string) (AppRow, error) {
	op := "app " + name
	list, err := s.appRows(ctx, op, s.db.Query("SELECT "+appColumns+" FROM schedule_apps WHERE name = ? AND deleted_at IS NULL", name))
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: %w", op, ErrNotFound)
	}
	if err != nil {
		return AppRow{}, err
	}
	return list[0], nil
}

// Apps returns those of the apps that there are, or all if none is named, by name.
func (s *Store) Apps(ctx context.Context, names ...string) ([]AppRow, error) {
	const base = "SELECT " + appColumns + " FROM schedule_apps WHERE deleted_at IS NULL"
	if len(names) == 0 {
		return s.appRows(ctx, "apps", s.db.Query(base+" ORDER BY name"))
	}
	var out []AppRow
	err := database.Chunks(names, func(names []string) error {
		more, err := s.appRows(ctx, "apps", s.db.Query(base+" AND name IN {ids} ORDER BY name", names))
		out = append(out, more...)
		return err
	})
	return out, err
}

// AppsAfter returns apps whose names come after that one, by name.
func (s *Store) AppsAfter(ctx context.Context, after string, limit int) ([]AppRow, error) {
	return s.appRows(ctx, "apps", s.db.Query("SELECT "+appColumns+` FROM schedule_apps
		WHERE name > ? AND deleted_at IS NULL ORDER BY name LIMIT ?`,
		after, limit))
}

// Dependents returns the apps that depend on that one, each with its period.
func (s *Store) Dependents(ctx context.Context, upstream string) (map[string]string, error) {
	out := map[string]string{}
	err := s.db.Do(ctx, "apps that depend on "+upstream, func(ctx context.Context) error {
		clear(out)
		return s.db.Query("SELECT app, period FROM schedule_depends WHERE upstream = ?", upstream).
			Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
				var app, period string
				err := scan(&app, &period)
				out[app] = period
				return err
			})
	})
	return out, err
}

// AppsWithoutNext returns recurring apps of which nothing is live that makes the next
// instance. There should be none; it looks at all apps.
func (s *Store) AppsWithoutNext(ctx context.Context, limit int) ([]string, error) {
	var out []string
	err := s.db.Do(ctx, "apps without a next instance", func(ctx context.Context) error {
		var err error
		out, err = s.db.Query(`SELECT a.name FROM schedule_apps a WHERE a.recurring = 1 AND a.deleted_at IS NULL AND NOT EXISTS
			(SELECT 1 FROM schedule_instances i WHERE i.app = a.name AND i.recurring = 1) ORDER BY a.name LIMIT ?`,
			limit).Strings(ctx, s.db.Reader)
		return err
	})
	return out, err
}

// DeadlineApps returns apps whose deadline has passed, the earliest first.
func (s *Store) DeadlineApps(ctx context.Context, limit int) ([]AppRow, error) {
	return s.appRows(ctx, "deadlines of apps", s.db.Query("SELECT "+appColumns+` FROM schedule_apps{index schedule_apps_deadline}
		WHERE deadline_at <= {now} AND deleted_at IS NULL ORDER BY deadline_at LIMIT ?`,
		limit))
}

// MoveDeadline moves the deadline of an app on from the period that starts at from,
// and stores that this one was late if late is not nil. The error is ErrNotUpdated
// if the deadline is that of another period.
func (s *Store) MoveDeadline(ctx context.Context, app string, from time.Time, nextStart, nextAt *time.Time, late *AppEvent) error {
	return s.db.InTxOnce(ctx, "move the deadline of app "+app, appToken(app), func(ctx context.Context, t *database.Tx) error {
		err := s.db.Query(`UPDATE schedule_apps SET change_token = ?, deadline_start = ?, deadline_at = ?
			WHERE name = ? AND deadline_start = ? AND deleted_at IS NULL`,
			t.Token, nullTime(nextStart), nullTime(nextAt), app, from.UnixMicro()).ExecOne(ctx, t)
		if err != nil || late == nil {
			return err
		}
		return s.addEvents(ctx, t, []AppEvent{*late})
	})
}
