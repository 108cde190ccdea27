package supervise

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/treadle-run/treadle/internal/private"
)

const (
	// lockFD is where a command and all that it starts have the file of its lock.
	// Scripts use lower numbers.
	lockFD = 9
	// lockWait is how long a command waits for the processes of an earlier one.
	lockWait = 30 * time.Second
	// pollLock is how often it is looked whether they are gone; the lock belongs to
	// an open file, and to wait for it in the kernel could not be ended.
	pollLock = 20 * time.Millisecond
)

// errHeld says that a process of an earlier command of the same lock still lives.
var errHeld = fmt.Errorf("an earlier try of this job still runs on this host, and has not ended within %s", lockWait)

// lock is a file that is locked for one command at a time. The lock belongs to
// the open file, which the command, all that it starts and the supervisor share:
// it is free when one of them gives it up, or when all of them are gone.
type lock struct {
	path string
	file *os.File
}

// locks are the lock files of all runners of this user on this host.
type locks struct {
	dir string
	log *slog.Logger
	// held is the directory, locked: programs that clean up directories for temporary
	// files leave one alone that is, as the manual of systemd-tmpfiles says.
	held *os.File
}

// newLocks makes sure that the directory of lock files is there and is ours. It is in
// the directory for temporary files, which every user can write to: if another user has
// taken its name there, it is in the state directory of this one.
func newLocks(log *slog.Logger) (*locks, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("treadle-%d", os.Getuid()))
	err := private.Dir(dir)
	if err == nil {
		return &locks{dir: dir, log: log, held: hold(dir)}, nil
	}
	state, stateErr := private.StateDir()
	if stateErr != nil {
		return nil, errors.Join(err, stateErr)
	}
	host, _ := os.Hostname() // a home may be shared by hosts; locks are of one
	other := filepath.Join(state, "locks-"+url.PathEscape(host))
	if stateErr := private.Dir(other); stateErr != nil {
		return nil, errors.Join(err, stateErr)
	}
	log.Warn("the directory for lock files belongs to another user, using one in the state directory", "dir", other, "error", err)
	return &locks{dir: other, log: log}, nil
}

// hold locks a directory for those who only look whether it is in use.
func hold(dir string) *os.File {
	f, err := os.Open(dir)
	if err == nil {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	}
	return f
}

// tryLock locks a file in the directory of locks, which somebody may have removed
// nonetheless: then it is made again. It returns nil without an error if the lock is held.
func (l *locks) tryLock(path string) (*lock, error) {
	locked, err := tryLock(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return locked, err
	}
	l.log.Warn("the directory for lock files was removed, making it again", "dir", l.dir)
	if err := os.MkdirAll(filepath.Dir(l.dir), 0o755); err != nil {
		return nil, err
	}
	if err := private.Dir(l.dir); err != nil {
		return nil, err
	}
	return tryLock(path)
}

// acquire waits until the lock is free.
func (l *locks) acquire(ctx context.Context, name string) (*lock, error) {
	path := filepath.Join(l.dir, url.PathEscape(name)+".lock")
	var tick *time.Ticker
	var over <-chan time.Time
	for {
		locked, err := l.tryLock(path)
		if err != nil || locked != nil {
			return locked, err
		}
		if tick == nil {
			l.log.Warn("waiting for a process of an earlier try on this host to end", "lock", name)
			tick = time.NewTicker(pollLock)
			defer tick.Stop()
			deadline := time.NewTimer(lockWait)
			defer deadline.Stop()
			over = deadline.C
		}
		select {
		case <-tick.C:
		case <-over:
			return nil, errHeld
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryLock returns nil without an error if the lock is held.
func tryLock(path string) (*lock, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = file.Close()
			if err == syscall.EWOULDBLOCK {
				return nil, nil
			}
			return nil, os.NewSyscallError("flock", err)
		}
		// Who had the lock may have removed the file between the two calls.
		l := &lock{path: path, file: file}
		if l.inPlace() {
			return l, nil
		}
		l.close()
	}
}

// inPlace reports whether the file of the lock is still the one at its path.
func (l *lock) inPlace() bool {
	ours, err := l.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(l.path)
	return err == nil && os.SameFile(ours, there)
}

// inherited are the files that a command gets so that it holds the lock.
func (l *lock) inherited() []*os.File {
	files := make([]*os.File, lockFD-3+1)
	files[lockFD-3] = l.file
	return files
}

// release gives the lock up and removes its file, also if processes that left
// the group of the command still have it. A nil lock is none.
func (l *lock) release() {
	if l == nil {
		return
	}
	if l.inPlace() {
		_ = os.Remove(l.path)
	}
	_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	l.close()
}

// close leaves the lock to the other processes that have the file.
func (l *lock) close() {
	if l != nil {
		_ = l.file.Close()
	}
}

// sweep removes the lock files of commands that are gone and that nobody asked
// for again.
func (l *locks) sweep() {
	paths, _ := filepath.Glob(filepath.Join(l.dir, "*.lock")) // an odd TMPDIR sweeps nothing
	for _, path := range paths {
		if locked, err := tryLock(path); err == nil {
			locked.release()
		}
	}
}
