package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/test/mariadb"
)

// Main is what the TestMain of a package that uses the harness gives to os.Exit:
// it runs the tests, stops the database server, and fails if goroutines are left.
func Main(m *testing.M) int {
	if !mariaDBOn() {
		fmt.Fprintln(os.Stderr, "e2e: on SQLite alone; TREADLE_TEST_MARIADB=on runs every test on MariaDB as well")
	}
	state, err := os.MkdirTemp("", "treadle-e2e-state-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(state) //nolint:errcheck // a temporary directory
	// What services and verbs of one user share is not the developer's own here.
	if err := os.Setenv("XDG_STATE_HOME", state); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	code := m.Run()
	if err := tearDown(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = max(code, 1)
	}
	return code
}

// mariaDBOn reports whether tests run on MariaDB, too.
func mariaDBOn() bool { return os.Getenv("TREADLE_TEST_MARIADB") == "on" }

// shared is what all tests of the process have together, made by the first one
// that needs it.
var shared struct {
	mu     sync.Mutex
	dir    string            // of the binaries
	built  map[string]string // path of the binary, by package
	server *mariadb.Server
}

func tearDown() error {
	if shared.server != nil {
		shared.server.Stop()
	}
	var err error
	if shared.dir != "" {
		err = os.RemoveAll(shared.dir)
	}
	http.DefaultClient.CloseIdleConnections()
	return errors.Join(err, goleak.Find())
}

// treadlePackage is the program that users have.
const treadlePackage = "./cmd/treadle"

// Binary returns the path of the treadle binary, built once for all tests.
// TREADLE_TEST_RACE=on builds it with the race detector; what that finds fails
// the test.
func Binary(t testing.TB) string {
	t.Helper()
	return build(t, treadlePackage)
}

func build(t testing.TB, pkg string) string {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if b, ok := shared.built[pkg]; ok {
		return b
	}
	if shared.dir == "" {
		dir, err := os.MkdirTemp("", "treadle-e2e-")
		if err != nil {
			t.Fatal(err)
		}
		shared.dir, shared.built = dir, map[string]string{}
	}
	binary := filepath.Join(shared.dir, path.Base(pkg))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	args := []string{"build", "-o", binary}
	cgo := "CGO_ENABLED=0" // as the Makefile builds it
	if os.Getenv("TREADLE_TEST_RACE") == "on" {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir, cmd.Env = RepoDir(), append(os.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	shared.built[pkg] = binary
	return binary
}

// MariaDB returns the server that all tests share. A test that kills or freezes
// a server starts one of its own.
func MariaDB(t testing.TB) *mariadb.Server {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil {
		s, err := mariadb.Start(context.Background(), mariadb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		shared.server = s
	}
	return shared.server
}

// RepoDir returns the directory of the module.
func RepoDir() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for dir != "/" {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	panic("e2e: no go.mod above the working directory")
}
