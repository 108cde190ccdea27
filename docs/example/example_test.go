package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treadle-run/treadle/test/programs"
)

// The program of this folder is compiled, serves its specs, and runs a request
// with its own job type.
func TestExampleRunsARequest(t *testing.T) {
	t.Parallel()
	// The context of the test ends before dev is told to.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	t.Cleanup(cancel)
	dir := t.TempDir()
	binary := programs.Path(t, programs.Example)
	files := filepath.Join(dir, "files")
	if err := os.Mkdir(files, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "a"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := serve(ctx, t, binary, filepath.Join(dir, "data"))

	out, err := exec.CommandContext(ctx, binary, "start", "checksum", "dir="+files, "--wait", "--addr", addr).CombinedOutput()
	if err != nil {
		t.Fatalf("start --wait: %v\n%s", err, out)
	}
	id := regexp.MustCompile(`\b[0-9a-v]{20}\b`).FindString(string(out))
	if id == "" {
		t.Fatalf("no request id in %s", out)
	}
	out, err = exec.CommandContext(ctx, binary, "log", id, "--full", "--addr", addr).CombinedOutput()
	if err != nil {
		t.Fatalf("log: %v\n%s", err, out)
	}
	want := "* in " + files + ": 1 files, 3 bytes, sha256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if !strings.Contains(string(out), want) {
		t.Errorf("the log does not say %q:\n%s", want, out)
	}

	out, err = exec.CommandContext(ctx, binary, "start", "checksum", "dir=here", "--addr", addr).CombinedOutput()
	if err == nil || !strings.Contains(string(out), `dir: expected a string that matches /.*, got the string "here"`) {
		t.Errorf("a bad arg: %v\n%s", err, out)
	}
}

// serve runs the verb dev until the test ends, and returns its address.
func serve(ctx context.Context, t *testing.T, binary, data string) string {
	t.Helper()
	dev := exec.CommandContext(ctx, binary, "dev", "--listen", "127.0.0.1:0", "--data", data, "--specs", "specs")
	dev.Cancel = func() error { return dev.Process.Signal(syscall.SIGTERM) }
	dev.WaitDelay = 30 * time.Second
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	dev.Stdout, dev.Stderr = w, w
	if err := dev.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	lines := bufio.NewReader(r)
	t.Cleanup(func() {
		_ = dev.Process.Signal(syscall.SIGTERM)
		rest, _ := io.ReadAll(lines)
		if err := dev.Wait(); err != nil {
			t.Errorf("dev: %v\n%s", err, rest)
		}
		_ = r.Close()
	})
	listens := regexp.MustCompile(`listens at (http://\S+?);`)
	for said := ""; ; {
		line, err := lines.ReadString('\n')
		said += line
		if m := listens.FindStringSubmatch(line); m != nil {
			return m[1]
		}
		if err != nil {
			t.Fatalf("dev ended: %v\n%s", err, said)
		}
	}
}
