package supervise

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/internal/testkit"
)

// playing in the environment makes the test binary a runner; see play.
const playing = "SUPERVISE_TEST_RUNNER"

func TestMain(m *testing.M) {
	Main()
	if os.Getenv(playing) == "parent" {
		playParent()
	}
	if os.Getenv(playing) != "" {
		play()
		return
	}
	testkit.MostlyWaiting()
	goleak.VerifyTestMain(m)
}

// play is a runner that is told by lines what to do: "lease MS", "run LOCK MARK
// SCRIPT", without end if LOCK is "loop", and, if it is "seated", first of all
// "succeed ADDRESS". It answers with lines: "up", "succeeded", "started PID" and
// "ended INTERRUPTED STATUS" or "failed WHY".
func play() {
	s := New(slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	if os.Getenv(playing) != "seated" {
		all.Go(func() { s.Run(ctx) })
	}
	fmt.Println("up")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "lease":
			ms, _ := strconv.Atoi(rest)
			s.Lease(time.Now().Add(time.Duration(ms) * time.Millisecond))
		case "succeed":
			if err := s.Succeed(ctx, rest); err != nil {
				fmt.Println("failed", err)
			}
			fmt.Println("succeeded")
			all.Go(func() { s.Run(ctx) })
		case "run":
			f := strings.SplitN(rest, " ", 3)
			all.Go(func() { playRun(ctx, s, f[0], f[1], f[2]) })
		}
	}
	stop()
	all.Wait()
}

func playRun(ctx context.Context, s Starter, lock, mark, script string) {
	c := command(script, mark)
	if lock != "loop" {
		c.Lock = lock
	}
	for {
		p, err := s.Start(ctx, c)
		if err != nil {
			fmt.Println("failed", err)
			return
		}
		if lock != "loop" {
			fmt.Println("started", p.PID)
		}
		out := p.Wait(ctx, func(error) time.Duration { return 10 * time.Second })
		if lock != "loop" {
			fmt.Println("ended", out.Interrupted, out.Status.ExitStatus())
			return
		}
	}
}

// command runs a script; a mark in its environment tells its processes.
func command(script, mark string) *Command {
	return &Command{
		Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH"), "MARK=" + mark},
		Stdout: os.Stderr, Stderr: os.Stderr,
	}
}

// runner is a test binary that plays one.
type runner struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startRunner starts a runner with a lease.
func startRunner(t *testing.T, lease time.Duration) *runner {
	t.Helper()
	return startRunnerAs(t, "1", lease)
}

// startSeated starts a runner with a lease that waits to be told its address.
func startSeated(t *testing.T, lease time.Duration) *runner {
	t.Helper()
	return startRunnerAs(t, "seated", lease)
}

func startRunnerAs(t *testing.T, what string, lease time.Duration, env ...string) *runner {
	t.Helper()
	r := &runner{t: t, cmd: exec.CommandContext(context.Background(), os.Args[0])}
	r.cmd.Env = append(append(os.Environ(), playing+"="+what), env...)
	r.cmd.Stderr = os.Stderr
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewScanner(out)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.end)
	r.hear("up")
	r.say("lease %d", lease.Milliseconds())
	return r
}

func (r *runner) say(format string, args ...any) {
	r.t.Helper()
	if _, err := fmt.Fprintf(r.in, format+"\n", args...); err != nil {
		r.t.Fatal(err)
	}
}

// hear waits for a line and returns what follows the word.
func (r *runner) hear(word string) string {
	r.t.Helper()
	if !r.out.Scan() {
		r.t.Fatalf("the runner ended before it said %q", word)
	}
	first, rest, _ := strings.Cut(r.out.Text(), " ")
	if first != word {
		r.t.Fatalf("the runner said %q, want %q", r.out.Text(), word)
	}
	return rest
}

func (r *runner) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// kill ends it as a crash would.
func (r *runner) kill() {
	r.t.Helper()
	r.signal(syscall.SIGKILL)
	_ = r.cmd.Wait()
}

// end lets it end in good order.
func (r *runner) end() {
	if r.cmd.ProcessState == nil {
		_ = r.cmd.Process.Signal(syscall.SIGCONT)
		_ = r.in.Close()
		_ = r.cmd.Wait()
	}
}

// supervised returns a Supervisor of this process with a long lease.
func supervised(t testing.TB) *Supervisor {
	t.Helper()
	s := New(slog.New(slog.DiscardHandler))
	runSupervisor(t, s)
	return s
}

// runSupervisor runs one until the end of the test, with a long lease.
func runSupervisor(t testing.TB, s *Supervisor) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	s.Lease(time.Now().Add(time.Hour))
}

// processOf returns the supervisor process.
func processOf(s *Supervisor) *os.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link.cmd.Process
}

// output runs a command to its end and returns what it wrote.
func output(t testing.TB, s Starter, c *Command) (string, Outcome) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c.Stdout = w
	if c.Stderr == nil {
		c.Stderr = w
	}
	p, err := s.Start(t.Context(), c)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), p.Wait(t.Context(), noGrace)
}

func noGrace(error) time.Duration { return 0 }

var marks atomic.Int64

// newMark returns text that is in the environment of no other process.
func newMark() string { return fmt.Sprintf("supervise-test-%d-%d", os.Getpid(), marks.Add(1)) }

// marked returns the processes whose environment has the mark, other than dead
// ones that nobody has waited for.
func marked(mark string) []string {
	var found []string
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte("MARK="+mark+"\x00")) {
			found = append(found, filepath.Base(filepath.Dir(path)))
		}
	}
	return found
}

// wantGone waits until no process has the mark.
func wantGone(t *testing.T, mark string, within time.Duration) {
	t.Helper()
	start := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		left := marked(mark)
		if took := time.Since(start); len(left) == 0 && took <= within {
			return
		} else if took > within {
			t.Fatalf("after %s processes are left: %v", within, left)
		}
		<-tick.C
	}
}

// soon is within which a command must be gone when its runner is. A machine that
// does much besides needs more: TREADLE_TEST_SLACK multiplies it.
func soon() time.Duration {
	slack, err := strconv.ParseFloat(os.Getenv("TREADLE_TEST_SLACK"), 64)
	if err != nil {
		slack = 1
	}
	return time.Duration(slack * float64(3*time.Second))
}

// waitFile waits for a file that a script makes, and returns its lines.
func waitFile(t *testing.T, path string, lines int) []string {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		b, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if got := strings.Fields(string(b)); len(got) >= lines {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has %q, want %d lines", path, b, lines)
		}
		<-tick.C
	}
}
