package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// MemoryPath is the path of a database in memory.
const MemoryPath = ":memory:"

const sqliteReaders = 4

// sqlitePragmas make commits durable and let readers go on beside the writer.
var sqlitePragmas = []string{
	"busy_timeout(5000)",
	"journal_mode(WAL)",
	"synchronous(FULL)",
	"temp_store(MEMORY)",
	"cache_size(-32000)", // KiB
}

func (d *DB) openSQLite(ctx context.Context) error {
	d.Dialect = &SQLiteDialect
	d.turn = make(chan struct{}, 1)
	path := d.Config.SQLitePath
	if path == MemoryPath {
		// The database is there only as long as its one connection.
		db, err := sql.Open("sqlite", MemoryPath+"?_txlock=immediate")
		if err != nil {
			return err
		}
		db.SetMaxOpenConns(1)
		d.Writer, d.Reader = db, db
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := createPrivate(path); err != nil {
		return err
	}
	var err error
	if d.Writer, err = sql.Open("sqlite", SQLiteDSN(path, "immediate")); err != nil {
		return err
	}
	d.Writer.SetMaxOpenConns(1)
	// The first connection turns the file to WAL; two at once would get in each
	// other's way.
	if err := d.Writer.PingContext(ctx); err != nil {
		return fmt.Errorf("open %s: %w", path, errors.Join(err, d.Writer.Close()))
	}
	if d.Reader, err = sql.Open("sqlite", SQLiteDSN(path, "deferred")); err != nil {
		return errors.Join(err, d.Writer.Close())
	}
	d.Reader.SetMaxOpenConns(sqliteReaders)
	d.Reader.SetMaxIdleConns(sqliteReaders)
	return nil
}

// createPrivate makes the file of a new database. What SQLite makes beside it has
// the same rights: args and output of jobs are nobody else's business.
func createPrivate(path string) error {
	// Only a new one: to close a file that is open elsewhere in this process would
	// take away its locks.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// SQLiteDSN is the data source name of a file, whose transactions begin with that lock.
func SQLiteDSN(path, txlock string) string {
	v := url.Values{"_txlock": {txlock}, "_pragma": sqlitePragmas}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: v.Encode()}
	return u.String()
}
