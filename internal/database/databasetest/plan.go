package databasetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/internal/database"
)

// BadSteps returns the steps of a plan of MySQL or MariaDB that look at a whole table.
func BadSteps(t *testing.T, db *database.DB, q *database.Query) []string {
	t.Helper()
	// MySQL has another form by default, and MariaDB no name for this one.
	explain := "EXPLAIN "
	if isMySQL(t, db) {
		explain += "FORMAT=TRADITIONAL "
	}
	rows, err := db.Writer.QueryContext(t.Context(), explain+q.SQL.String(), q.Args...)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	var bad []string
	for rows.Next() {
		var table, kind, key, extra *string
		dest := make([]any, len(columns))
		for i, name := range columns {
			dest[i] = new(*string)
			switch name {
			case "table":
				dest[i] = &table
			case "type":
				dest[i] = &kind
			case "key":
				dest[i] = &key
			case "Extra":
				dest[i] = &extra
			}
		}
		must(t, rows.Scan(dest...))
		if table == nil || kind == nil {
			continue
		}
		// Derived tables and unions hold a page at most.
		derived := strings.HasPrefix(*table, "<")
		if !derived && (*kind == "ALL" || key == nil || extra != nil && strings.Contains(*extra, "filesort") && *key != "requests_finished") {
			bad = append(bad, fmt.Sprintf("%s: %s by %v: %v", *table, *kind, deref(key), deref(extra)))
		}
	}
	must(t, rows.Err())
	return bad
}

// isMySQL tells MySQL from MariaDB.
func isMySQL(t *testing.T, db *database.DB) bool {
	t.Helper()
	var version string
	must(t, db.Writer.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&version))
	return !strings.Contains(version, "MariaDB")
}

func deref(x *string) string {
	if x == nil {
		return "NULL"
	}
	return *x
}
