package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/test/mariadb"
	"github.com/treadle-run/treadle/test/programs"
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
	testkit.MostlyWaiting()
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
	server *mariadb.Server
}

func tearDown() error {
	if shared.server != nil {
		shared.server.Stop()
	}
	http.DefaultClient.CloseIdleConnections()
	return goleak.Find()
}

// Binary returns the path of the treadle binary. TREADLE_TEST_RACE=on takes the one
// with the race detector; what that finds fails the test.
func Binary(t testing.TB) string {
	t.Helper()
	return program(t, programs.Treadle)
}

func program(t testing.TB, pkg string) string {
	t.Helper()
	if os.Getenv("TREADLE_TEST_RACE") == "on" {
		return programs.RacePath(t, pkg)
	}
	return programs.Path(t, pkg)
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
	dir, err := programs.RepoDir()
	if err != nil {
		panic(err)
	}
	return dir
}
