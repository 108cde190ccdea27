package schedule

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// tables have what a run leaves, with the column that names the app.
var tables = []struct{ name, column string }{
	{"schedule_apps", "name"}, {"schedule_depends", "app"}, {"schedule_instances", "app"},
	{"schedule_archive", "app"}, {"schedule_signals", "app"}, {"schedule_events", "app"},
}

// clean removes all rows of the run, and its table.
func (t *test) clean(ctx context.Context) error {
	errs := []error{cleanPrefix(ctx, t.db, runPrefix(t.run))}
	_, err := t.db.ExecContext(ctx, "DROP TABLE IF EXISTS "+artifactsTable(t.run))
	errs = append(errs, err)
	if t.shards.Valid {
		_, err = t.db.ExecContext(ctx, "UPDATE schedule_settings SET shards = ? WHERE id = 1", t.shards.Int64)
	} else {
		_, err = t.db.ExecContext(ctx, "DELETE FROM schedule_settings WHERE id = 1 AND purged_to IS NULL")
	}
	errs = append(errs, err)
	_, err = t.db.ExecContext(ctx, "DELETE FROM schedule_members WHERE version = 'torture'")
	return errors.Join(append(errs, err)...)
}

func cleanPrefix(ctx context.Context, db *sql.DB, prefix string) error {
	for _, table := range tables {
		_, err := db.ExecContext(ctx, "DELETE FROM "+table.name+" WHERE "+table.column+" >= ? AND "+table.column+" < ?", prefix, prefix+"\x7f")
		if err != nil {
			return fmt.Errorf("clean %s: %w", table.name, err)
		}
	}
	return nil
}

// cleanAll removes what runs that were killed have left.
func cleanAll(ctx context.Context, db *sql.DB, onMySQL bool) error {
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'torture#_artifacts#_%' ESCAPE '#'"
	if onMySQL {
		query = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 'torture#_artifacts#_%' ESCAPE '#'"
	}
	names, err := readNames(ctx, db, query)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := db.ExecContext(ctx, "DROP TABLE "+name); err != nil {
			return err
		}
	}
	if _, err := db.ExecContext(ctx, "DELETE FROM schedule_members WHERE version = 'torture'"); err != nil {
		return err
	}
	return cleanPrefix(ctx, db, Prefix)
}

func readNames(ctx context.Context, db *sql.DB, query string) (names []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
