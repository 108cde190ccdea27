package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/treadle-run/treadle/internal/supervise"
	"github.com/treadle-run/treadle/job"
)

const (
	// leaseGrace is the limit of the time between SIGTERM and SIGKILL when the runner has
	// lost its lease: other runners go on with the request soon.
	leaseGrace = 2 * time.Second
	// maxPipe is the limit of what a pipe holds.
	maxPipe = 1 << 20
)

// process is one command with all that it starts. It gets a session of its own,
// and so a process group of its own: one signal reaches all of it, Ctrl-C at the
// terminal of the runner does not, and it finds no terminal to ask for a password
// at.
type process struct {
	argv    []string
	env     []string
	dir     string        // "": that of the runner
	grace   time.Duration // between SIGTERM and SIGKILL
	lock    string        // what at most one process of this host may be at a time
	files   []string      // that were made for it
	started func(pid int) // called once
}

// outcome is how a process ended.
type outcome struct {
	// exit is the exit code; for a death by signal 128 and the number of it, as
	// shells have it; -1 if nothing was started.
	exit           int64
	signal         string // the name of the signal that killed it, or ""
	stopped        bool   // it was told to stop before it ended
	interrupted    bool   // not by its context
	stdout, stderr []byte
	leftovers      []string // processes that it left behind, which were ended
}

// run starts the command, and returns when it and its whole group have ended.
// If ctx ends before, the group gets SIGTERM and, after the grace, SIGKILL. An
// error says that nothing was started, or, if it is supervise.ErrInterrupted, that
// nothing is known of it but that it has ended.
func (p *process) run(ctx context.Context) (outcome, error) {
	var stdout, stderr stream
	err := errors.Join(stdout.open(), stderr.open())
	var started *supervise.Process
	if err == nil {
		started, err = supervise.From(ctx).Start(ctx, &supervise.Command{
			Argv: p.argv, Env: p.env, Dir: p.dir, Lock: p.lock, Files: p.files, Stdout: stdout.w, Stderr: stderr.w,
		})
	}
	stdout.start()
	stderr.start()
	if err != nil {
		stdout.end()
		stderr.end()
		return outcome{exit: -1}, err
	}
	p.started(started.PID)

	ended := started.Wait(ctx, p.graceFor)
	out := outcome{
		exit:    int64(ended.Status.ExitStatus()),
		stopped: ended.Stopped, interrupted: ended.Interrupted,
		stdout: stdout.end(), stderr: stderr.end(), leftovers: ended.Leftovers,
	}
	if ended.Status.Signaled() {
		out.exit = 128 + int64(ended.Status.Signal())
		out.signal = unix.SignalName(ended.Status.Signal())
	}
	return out, nil
}

// graceFor is how long the command has when its context has ended with a cause.
func (p *process) graceFor(cause error) time.Duration {
	if errors.Is(cause, job.ErrLeaseLost) {
		return min(p.grace, leaseGrace)
	}
	return p.grace
}

// errInterrupted is the end of a command whose runner had no right to run it any
// more: it was frozen, or what supervises commands was killed.
var errInterrupted = fmt.Errorf("%w: the runner was frozen for longer than its lease, or its supervisor process was killed", job.ErrInterrupted)

// stream is one output of a process: a pipe, and a goroutine that empties it.
type stream struct {
	r, w *os.File
	kept *capture
	done chan struct{}
}

func (s *stream) open() (err error) {
	s.r, s.w, err = os.Pipe()
	return err
}

// start closes the side of the process and starts to read.
func (s *stream) start() {
	s.kept, s.done = newCapture(maxOutput), make(chan struct{})
	if s.r == nil {
		close(s.done)
		return
	}
	_ = s.w.Close()
	go s.read()
}

// end returns what the process wrote, all of it. It does not wait for others
// that still hold the pipe.
func (s *stream) end() []byte {
	if s.r != nil {
		_ = s.r.SetReadDeadline(time.Unix(1, 0))
	}
	<-s.done
	return s.kept.Bytes()
}

func (s *stream) read() {
	defer close(s.done)
	defer func() { _ = s.r.Close() }()
	buf := make([]byte, 32<<10)
	_, err := io.CopyBuffer(s.kept, struct{ io.Reader }{s.r}, buf)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.drain(buf)
	}
}

// drain reads what is in the pipe already, without waiting for more. Who still
// writes does not keep it for ever.
func (s *stream) drain(buf []byte) {
	_ = s.r.SetReadDeadline(time.Time{})
	conn, err := s.r.SyscallConn()
	if err != nil {
		return
	}
	for left := maxPipe; left > 0; {
		var n int
		var readErr error
		err := conn.Read(func(fd uintptr) bool {
			n, readErr = syscall.Read(int(fd), buf)
			return true
		})
		if readErr == syscall.EINTR {
			continue
		}
		if err != nil || readErr != nil || n <= 0 {
			return
		}
		_, _ = s.kept.Write(buf[:n])
		left -= n
	}
}
