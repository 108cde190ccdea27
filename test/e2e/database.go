package e2e

import (
	"database/sql"
	"path/filepath"
	"strings"

	_ "github.com/go-sql-driver/mysql" // the driver of MariaDB
	_ "modernc.org/sqlite"             // the driver of SQLite
)

// DB opens the database of the test, beside the services that use it. It is for
// what no API shows, such as claims.
func (e *Env) DB() *sql.DB {
	e.t.Helper()
	driver, dsn := "sqlite", filepath.Join(e.Dir, "treadle.db")+"?_pragma=busy_timeout(10000)"
	if e.Database == "MariaDB" {
		driver, dsn = "mysql", strings.TrimPrefix(e.database[0], "TREADLE_MYSQL_DSN=")
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() {
		if err := db.Close(); err != nil {
			e.t.Error(err)
		}
	})
	return db
}
