package supervise

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A command is started exactly as it was asked for, whoever is its parent.
func TestWhatACommandGets(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 100<<10)
	tests := []struct {
		name, want string
		c          Command
	}{
		{"argv", "a b|\xff|$HOME||", Command{Argv: []string{"/bin/sh", "-c", `printf '%s|' "$@"`, "sh", "a b", "\xff", "$HOME", ""}}},
		{"env", "A=1\x00a.b=2\x00=x\x00C=\xfe\n\x00L=" + large + "\x00",
			Command{Argv: []string{"cat", "/proc/self/environ"}, Env: []string{"A=1", "a.b=2", "=x", "C=\xfe\n", "L=" + large}}},
		{"no env", "", Command{Argv: []string{"cat", "/proc/self/environ"}, Env: []string{}}},
		{"dir", dir + "\n", Command{Argv: []string{"pwd"}, Dir: dir}},
		{"no input", "", Command{Argv: []string{"cat"}}},
		{"signals", ignored(t), Command{Argv: []string{"grep", "SigIgn", "/proc/self/status"}}},
	}
	s := supervised(t)
	for _, tt := range tests {
		for name, starter := range map[string]Starter{"supervised": s, "local": Local{}} {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				c := tt.c
				if got, out := output(t, starter, &c); got != tt.want || out.Status.ExitStatus() != 0 {
					t.Errorf("got %q, %+v, want %q", got, out, tt.want)
				}
			})
		}
	}
}

// ignored returns the signals that any child of this process ignores: what whoever
// started it left ignored, and nothing that a supervisor ignores for itself.
func ignored(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("grep", "SigIgn", "/proc/self/status").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// A command has no files that are not its own: only that of the lock, if it has
// one, and what a careless parent of the runner left open for all.
func TestWhichFilesACommandHas(t *testing.T) {
	t.Parallel()
	s := supervised(t)
	list := func(starter Starter, lock string) string {
		got, _ := output(t, starter, &Command{Argv: []string{"ls", "-f", "/proc/self/fd"}, Lock: lock})
		files := strings.Fields(got)
		slices.Sort(files)
		return strings.Join(slices.DeleteFunc(files, func(f string) bool { return f == "9" && lock != "" }), " ")
	}
	want := list(Local{}, "")
	if got := list(s, ""); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := list(s, newMark()); got != want {
		t.Errorf("without 9 and with a lock: got %q, want %q", got, want)
	}
}

func TestWhyACommandCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("not a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		c    Command
		want error
	}{
		{"not in PATH", Command{Argv: []string{"no-such-program"}}, exec.ErrNotFound},
		{"missing", Command{Argv: []string{"/no/such"}}, syscall.ENOENT},
		{"not executable", Command{Argv: []string{"/etc/passwd"}}, syscall.EACCES},
		{"no program", Command{Argv: []string{text}}, syscall.ENOEXEC},
		{"missing dir", Command{Argv: []string{"true"}, Dir: "/no/such"}, syscall.ENOENT},
		{"too large", Command{Argv: []string{"true", strings.Repeat("x", 1<<20)}}, syscall.E2BIG},
		{"far too large", Command{Argv: []string{"true", strings.Repeat("x", 20<<20)}}, syscall.E2BIG},
	}
	s := supervised(t)
	for _, tt := range tests {
		for name, starter := range map[string]Starter{"supervised": s, "local": Local{}} {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				c := tt.c
				c.Stdout, c.Stderr, c.Env = os.Stdout, os.Stderr, []string{}
				if _, err := starter.Start(t.Context(), &c); !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
			})
		}
	}
}

func TestNothingStartsWithoutALease(t *testing.T) {
	t.Parallel()
	s := New(slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { s.Run(ctx) })
	defer all.Wait()
	defer stop()

	reason := errors.New("told to stop")
	early, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := s.Start(early, command("true", newMark())); !errors.Is(err, reason) {
		t.Errorf("without a lease: %v", err)
	}
	s.Lease(time.Now().Add(-time.Second))
	if _, err := s.Start(early, command("true", newMark())); !errors.Is(err, reason) {
		t.Errorf("with one that is over: %v", err)
	}
	started := make(chan error, 1)
	go func() {
		p, err := s.Start(t.Context(), command("true", newMark()))
		if err == nil {
			p.Wait(t.Context(), noGrace)
		}
		started <- err
	}()
	select {
	case err := <-started:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	s.Lease(time.Now().Add(time.Minute))
	if err := <-started; err != nil {
		t.Errorf("when the lease came: %v", err)
	}
}

// The supervisor decides whether a lease is over, not the runner that asks.
func TestASupervisorRefusesWhenTheLeaseIsOver(t *testing.T) {
	t.Parallel()
	l, err := newLink(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.end()
	c := command("true", newMark())
	req := &startRequest{Path: "/bin/sh", Argv: c.Argv, Env: c.Env}
	if _, err := l.start(now()-1, req, c, nil); !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
	p, err := l.start(now()+instant(time.Minute), req, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out := p.Wait(t.Context(), noGrace); out.Status.ExitStatus() != 0 {
		t.Errorf("got %+v", out)
	}
}

func TestNoFilesAreLeftOpen(t *testing.T) {
	s := supervised(t)
	run := func() {
		c := command("exit 0", newMark())
		c.Lock = newMark()
		output(t, s, c)
	}
	run()
	pid := strconv.Itoa(processOf(s).Pid)
	ours, theirs := openFiles(t, "self"), openFiles(t, pid)
	for range 200 {
		run()
	}
	// A copy may be on its way to be closed, but not one of each command.
	if a, b := openFiles(t, "self"), openFiles(t, pid); a > ours+5 || b > theirs+5 {
		t.Errorf("of the runner %d files were open and then %d, of the supervisor %d and %d", ours, a, theirs, b)
	}
}

func openFiles(t *testing.T, pid string) int {
	t.Helper()
	files, err := os.ReadDir("/proc/" + pid + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// What a command costs with a supervisor and without.
func BenchmarkCommand(b *testing.B) {
	for name, starter := range map[string]Starter{"supervised": supervised(b), "local": Local{}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c := &Command{Argv: []string{"/bin/true"}, Env: os.Environ()}
				if name == "supervised" {
					c.Lock = "benchmark" + strconv.Itoa(os.Getpid())
				}
				output(b, starter, c)
			}
		})
	}
}
