package schedule

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/test/torture"
)

// openDB opens the database of a store, to look at it with other eyes.
func openDB(c database.Config) (*sql.DB, error) {
	if c.SQLitePath != "" {
		return torture.OpenSQLite(c.SQLitePath, "busy_timeout(10000)", "journal_mode(WAL)")
	}
	return torture.OpenMySQL(c.MySQLDSN, c.TLS)
}

// errFenced says that somebody who came later has written the artifact.
var errFenced = errors.New("this call is over: a later one has written")

// artifacts is the table of what the jobs of a run have made. A row is written under
// a token, the sequence of the instance at that time, and never under a smaller one
// than before: what a member does whose time is over does not count. An undo leaves
// the row, with present 0, since what is not there cannot refuse anything.
type artifacts struct {
	db    *sql.DB
	table string
	mysql bool
}

func newArtifacts(db *sql.DB, run string, onMySQL bool) *artifacts {
	return &artifacts{db: db, table: artifactsTable(run), mysql: onMySQL}
}

func (a *artifacts) create(ctx context.Context) error {
	stmt := "CREATE TABLE " + a.table + ` (app VARCHAR(75) NOT NULL, number BIGINT NOT NULL, token BIGINT NOT NULL,
		present INT NOT NULL, PRIMARY KEY (app, number))`
	if a.mysql {
		stmt += " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
	}
	_, err := a.db.ExecContext(ctx, stmt)
	return err
}

// put makes an artifact, or deletes it.
func (a *artifacts) put(ctx context.Context, app string, number, token uint64, present bool) error {
	stmt := ` ON CONFLICT (app, number) DO UPDATE SET present = CASE WHEN excluded.token >= token THEN excluded.present ELSE present END,
		token = MAX(token, excluded.token)`
	if a.mysql { // the assignments are made in this order
		stmt = ` ON DUPLICATE KEY UPDATE present = IF(VALUES(token) >= token, VALUES(present), present), token = GREATEST(token, VALUES(token))`
	}
	there := 0
	if present {
		there = 1
	}
	_, err := a.db.ExecContext(ctx, "INSERT INTO "+a.table+" (app, number, token, present) VALUES (?, ?, ?, ?)"+stmt, app, number, token, there)
	if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	var has uint64
	err = a.db.QueryRowContext(ctx, "SELECT token FROM "+a.table+" WHERE app = ? AND number = ?", app, number).Scan(&has)
	if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	if has > token {
		return errFenced
	}
	return nil
}
