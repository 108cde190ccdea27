package store

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

const (
	memoryPath    = ":memory:"
	sqliteReaders = 4
)

// sqlitePragmas make commits durable and let readers go on beside the writer.
var sqlitePragmas = []string{
	"busy_timeout(5000)",
	"journal_mode(WAL)",
	"synchronous(FULL)",
	"temp_store(MEMORY)",
	"cache_size(-32000)", // KiB
}

func (s *Store) openSQLite(ctx context.Context) error {
	s.dialect = &sqliteDialect
	s.turn = make(chan struct{}, 1)
	path := s.cfg.SQLitePath
	if path == memoryPath {
		// The database is there only as long as its one connection.
		db, err := sql.Open("sqlite", memoryPath+"?_txlock=immediate")
		if err != nil {
			return err
		}
		db.SetMaxOpenConns(1)
		s.write, s.read = db, db
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := createPrivate(path); err != nil {
		return err
	}
	var err error
	if s.write, err = sql.Open("sqlite", sqliteDSN(path, "immediate")); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	// The first connection turns the file to WAL; two at once would get in each
	// other's way.
	if err := s.write.PingContext(ctx); err != nil {
		return fmt.Errorf("open %s: %w", path, errors.Join(err, s.write.Close()))
	}
	if s.read, err = sql.Open("sqlite", sqliteDSN(path, "deferred")); err != nil {
		return errors.Join(err, s.write.Close())
	}
	s.read.SetMaxOpenConns(sqliteReaders)
	s.read.SetMaxIdleConns(sqliteReaders)
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

func sqliteDSN(path, txlock string) string {
	v := url.Values{"_txlock": {txlock}, "_pragma": sqlitePragmas}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: v.Encode()}
	return u.String()
}
