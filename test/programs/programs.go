// Package programs has the programs that tests run, each built once for all packages of
// a `go test` and not once by each.
//
// Make builds them before the tests and says where they are, in TREADLE_TEST_BIN. Who
// types `go test` gets them from a directory in the user's cache that packages which run
// side by side share: the first one builds, under a lock, and the next ones only let go
// see that nothing has changed.
package programs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The programs of the module, by their packages.
const (
	Treadle        = "./cmd/treadle"
	TreadleTorture = "./cmd/treadle-torture"
	Panicky        = "./test/e2e/panicky" // a treadle whose jobs panic
	Example        = "./docs/example"     // the program that the docs show
)

// DirVariable says where programs are that were built before: each has the last part of
// its package as its name, and -race at the end if it has the race detector.
const DirVariable = "TREADLE_TEST_BIN"

// buildLimit is how long a build may take on a busy machine.
const buildLimit = 10 * time.Minute

var paths struct {
	mu    sync.Mutex
	known map[string]string
}

// Path returns the path of a program without the race detector.
func Path(t testing.TB, pkg string) string {
	t.Helper()
	return get(t, pkg, false)
}

// RacePath returns the path of a program with the race detector.
func RacePath(t testing.TB, pkg string) string {
	t.Helper()
	return get(t, pkg, true)
}

func get(t testing.TB, pkg string, race bool) string {
	t.Helper()
	name := path.Base(pkg)
	if race {
		name += "-race"
	}
	paths.mu.Lock()
	defer paths.mu.Unlock()
	if p, ok := paths.known[name]; ok {
		return p
	}
	p, err := find(pkg, name, race)
	if err != nil {
		t.Fatal(err)
	}
	if paths.known == nil {
		paths.known = map[string]string{}
	}
	paths.known[name] = p
	return p
}

func find(pkg, name string, race bool) (string, error) {
	dir := os.Getenv(DirVariable)
	if dir == "" {
		return build(pkg, name, race)
	}
	p := filepath.Join(dir, name)
	if _, err := os.Stat(p); err != nil { // go test sees by this, too, that a cached result is too old
		return "", fmt.Errorf("%s has no %s, build it or unset %s: %w", dir, name, DirVariable, err)
	}
	return p, nil
}

// build builds a program in the shared directory, if it is not there or too old.
func build(pkg, name string, race bool) (string, error) {
	root, err := RepoDir()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root)) // each copy of the repository has its own
	dir := filepath.Join(cache, "treadle-test", fmt.Sprintf("%x", sum[:6]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(dir, name+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	p := filepath.Join(dir, name)
	args, cgo := []string{"build", "-o", p}, "CGO_ENABLED=0" // as the Makefile builds it
	if race {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return p, nil
}

// lock takes the lock of a file, which lasts until unlock or the end of the process.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close() // the lock's error counts
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = f.Close() }, nil // closing gives the lock back
}

// RepoDir returns the directory of the module.
func RepoDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for start := dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above %s", start)
		}
	}
}
