package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/job/builtin"
)

// databaseEnv has the file that this program, started once more, is to serve.
const databaseEnv = "TEST_LOCK_DATABASE"

// TestMain is also the other Request Manager, in a process of its own.
func TestMain(m *testing.M) {
	path := os.Getenv(databaseEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	err := Run(context.Background(), managerOn(path), Deps{
		Registry: builtin.Registry(), Logger: slog.New(slog.DiscardHandler), Ready: func(addr string) { fmt.Println(addr) },
	})
	fmt.Println(err)
	os.Exit(1)
}

func managerOn(path string) Config {
	cfg := Default()
	cfg.Server.Addr, cfg.SQLite.Path, cfg.Specs.Dir = "127.0.0.1:0", path, filepath.Dir(path)
	return cfg
}

// startManager starts a Request Manager in a process of its own, and returns it once it
// serves.
func startManager(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), databaseEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "127.0.0.1:") {
		t.Fatalf("it does not serve: %q, %v", line, err)
	}
	return cmd
}

func TestOneRequestManagerPerSQLiteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "treadle.db"), filepath.Join(dir, "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	first := startManager(t, path)
	log := slog.New(slog.DiscardHandler)
	deps := Deps{Registry: builtin.Registry(), Logger: log, Ready: func(string) { t.Error("a second one serves") }}
	for _, name := range []string{path, link} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := Run(ctx, managerOn(name), deps)
		cancel()
		if want := fmt.Sprintf("%s is in use by another Request Manager (pid %d)", path, first.Process.Pid); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("a second one on %s: %v\nwant %s", name, err, want)
		}
	}

	// Who only looks is let in.
	if _, err := Check(t.Context(), managerOn(path), 0, log); err != nil {
		t.Errorf("check beside it: %v", err)
	}
	db, err := OpenDatabase(t.Context(), managerOn(path), log)
	if err != nil {
		t.Fatal(err)
	}
	if current, newest, _, err := db.MigrationStatus(t.Context()); err != nil || current != newest {
		t.Errorf("the status of migrations beside it: %d of %d, %v", current, newest, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}

	// One that was killed leaves nothing that stands in the way.
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err == nil {
		t.Error("it was not killed")
	}
	startManager(t, path)
}

func TestInMemoryThereIsNothingToLock(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", ":memory:"} {
		for range 2 {
			unlock, err := lockSQLite(path)
			if err != nil {
				t.Fatal(err)
			}
			defer unlock()
		}
	}
	if _, err := os.Stat(":memory:.lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a lock file: %v", err)
	}
}
