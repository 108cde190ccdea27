package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockSQLite locks a SQLite file for this Request Manager: of two on one file, each
// would decide alone which runners are alive. Commands that only read the database
// need no lock. The lock is a file beside it, and is released when the process ends,
// however that happens.
func lockSQLite(path string) (unlock func(), err error) {
	if path == "" || path == ":memory:" {
		return func() {}, nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // another name of it is no other file
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("sqlite.path: %w", err)
	}
	file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sqlite.path: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		// The pid is for the message alone: the lock counts without it.
		if file.Truncate(0) == nil {
			_, _ = fmt.Fprintln(file, os.Getpid())
		}
		return func() { _ = file.Close() }, nil
	}
	defer file.Close() //nolint:errcheck // nothing was written
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("sqlite.path: lock %s: %w", file.Name(), err)
	}
	pid := ""
	if b, err := io.ReadAll(io.LimitReader(file, 20)); err == nil && len(b) > 0 {
		pid = " (pid " + strings.TrimSpace(string(b)) + ")"
	}
	return nil, fmt.Errorf("%s is in use by another Request Manager%s: end that, or take another file; several Request Managers share a MariaDB or MySQL", path, pid)
}
