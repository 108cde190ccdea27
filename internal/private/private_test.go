package private_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/internal/private"
)

// playing in the environment makes the test binary a process with secrets.
const playing = "PRIVATE_TEST_PLAYS"

func TestMain(m *testing.M) {
	if os.Getenv(playing) != "" {
		private.ForgetEnvironment("SECRET_")
		if err := private.Hide(); err != nil {
			fmt.Println(err)
		}
		fmt.Println("ready")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the test ends it
		child, err := exec.CommandContext(context.Background(), "env").Output()
		fmt.Printf("%s%v\nend\n", child, err)
		return
	}
	os.Exit(m.Run())
}

// What a process was started with is seen neither by others nor by its children.
func TestForgottenVariablesAreNowhere(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = []string{"FIRST=1", "SECRET_A=tiger", "BETWEEN=SECRET_", "SECRET_B=", "SECRET_C=" + strings.Repeat("lion", 1000), "PATH=" + os.Getenv("PATH"), playing + "=1"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); line != "ready\n" {
		t.Fatalf("it says %q, %v", line, err)
	}
	if runtime.GOOS == "linux" {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
		switch {
		case errors.Is(err, fs.ErrPermission) && os.Getuid() != 0:
		case err != nil:
			t.Error(err)
		default: // root reads it
			if bytes.Contains(b, []byte("tiger")) || bytes.Contains(b, []byte("lion")) || !bytes.Contains(b, []byte("FIRST=1\x00")) || !bytes.Contains(b, []byte("BETWEEN=SECRET_\x00")) {
				t.Errorf("others read %q", b)
			}
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(said)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if text := string(rest); strings.Contains(text, "SECRET_A") || strings.Contains(text, "lion") || !strings.Contains(text, "BETWEEN=SECRET_") {
		t.Errorf("a child has %q", text)
	}
}

func TestDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // made, and found
		if err := private.Dir(dir); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("it is %v, %v", info, err)
	}
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := private.Dir(dir); err == nil {
		t.Error("one that others can use is accepted")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if err := private.Dir(link); err == nil {
		t.Error("a link is accepted")
	}
}

// Not parallel: it changes the environment.
func TestStateDir(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	for state, want := range map[string]string{"": "/home/ada/.local/state/treadle", "/state": "/state/treadle", "not/absolute": "/home/ada/.local/state/treadle"} {
		t.Setenv("XDG_STATE_HOME", state)
		if got, err := private.StateDir(); err != nil || got != want {
			t.Errorf("with XDG_STATE_HOME=%s it is %s, %v; want %s", state, got, err, want)
		}
	}
}
