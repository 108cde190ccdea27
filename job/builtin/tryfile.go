package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/treadle-run/treadle/job"
)

// tryFilePrefix starts the names of files that are made for one try of a command.
const tryFilePrefix = "treadle-try-"

var tryFileName = regexp.MustCompile(`^` + tryFilePrefix + `[a-z]+-[0-9]+$`)

// tryFile is a file that is made for one try of a command. It is kept open, so that it
// is known whose it is whatever stands at its path later, and locked, so that others
// know that its runner lives.
type tryFile struct{ *os.File }

// newTryFile makes an empty one, for this user alone until it is given to that of the
// command.
func newTryFile(kind string) (tryFile, error) {
	sweepOnce()
	f, err := os.CreateTemp("", tryFilePrefix+kind+"-*")
	if errors.Is(err, fs.ErrNotExist) {
		// Somebody cleaned up: a directory that was configured by TMPDIR need not be there
		// for ever.
		if err = os.MkdirAll(os.TempDir(), 0o755); err == nil {
			f, err = os.CreateTemp("", tryFilePrefix+kind+"-*")
		}
	}
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		tryFile{f}.remove()
		return tryFile{}, fmt.Errorf("no file for %s: %w", kind, err)
	}
	return tryFile{f}, nil
}

// newDataFile makes a file with job data as one JSON object.
func newDataFile(data job.Values) (tryFile, error) {
	if data == nil {
		data = job.Values{}
	}
	b, err := data.MarshalJSON()
	if err != nil {
		return tryFile{}, err
	}
	f, err := newTryFile("data")
	if err != nil {
		return tryFile{}, err
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		f.remove()
		return tryFile{}, fmt.Errorf("no file for data: %w", err)
	}
	return f, nil
}

// remove removes it. The command may have done so.
func (f tryFile) remove() {
	if f.File == nil {
		return
	}
	_ = os.Remove(f.Name())
	_ = f.Close()
}

// sweepAge is how old a file must be before it may be taken for left behind: a new one
// is not locked yet.
const sweepAge = time.Minute

var sweepOnce = sync.OnceFunc(func() { sweepTryFiles(time.Now().Add(-sweepAge)) })

// sweepTryFiles removes the files, older than a point in time, of runners that were
// killed.
func sweepTryFiles(before time.Time) {
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), tryFilePrefix+"*")) // an odd TMPDIR sweeps nothing
	for _, path := range paths {
		if !tryFileName.MatchString(filepath.Base(path)) {
			continue // a command made it, beside its own
		}
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.ModTime().After(before) {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue // of another user
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.Remove(path)
		}
		_ = f.Close()
	}
}
