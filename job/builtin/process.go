package builtin

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// leftoverGrace is how long processes that a command left behind have between
	// SIGTERM and SIGKILL.
	leftoverGrace = time.Second
	// killWait bounds the wait for processes after SIGKILL. Only some that hang in
	// the kernel, or that belong to another user, need more.
	killWait = 2 * time.Second
	// pollGroup is how often a process group that should end is looked at; the
	// system tells nobody when a group has become empty.
	pollGroup = 5 * time.Millisecond
	// maxPipe is the most that a pipe can hold.
	maxPipe = 1 << 20
)

// process is one command with all that it starts. No other file starts, signals
// or waits for processes: a supervisor that outlives the runner can be put
// between the two here.
//
// The command gets a session of its own, and so a process group of its own:
// one signal reaches all of it, Ctrl-C at the terminal of the runner does not,
// and it finds no terminal to ask for a password at.
type process struct {
	argv    []string
	env     []string
	dir     string        // "": that of the runner
	grace   time.Duration // between SIGTERM and SIGKILL
	started func(pid int) // called once
}

// outcome is how a process ended.
type outcome struct {
	// exit is the exit code; for a death by signal 128 and the number of it, as
	// shells have it; -1 if nothing was started.
	exit           int64
	signal         string // the name of the signal that killed it, or ""
	stopped        bool   // it was told to stop before it ended
	stdout, stderr []byte
}

// run starts the command, and returns when it and its whole group have ended.
// If ctx ends before, the group gets SIGTERM and, after the grace, SIGKILL. An
// error says that nothing was started.
func (p *process) run(ctx context.Context) (outcome, error) {
	var stdout, stderr stream
	cmd := exec.CommandContext(context.WithoutCancel(ctx), p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err := errors.Join(stdout.open(), stderr.open())
	if err == nil {
		cmd.Stdout, cmd.Stderr = stdout.w, stderr.w
		err = cmd.Start()
	}
	stdout.begin()
	stderr.begin()
	if err != nil {
		stdout.end()
		stderr.end()
		return outcome{exit: -1}, err
	}
	p.started(cmd.Process.Pid)

	out := outcome{stopped: p.wait(ctx, cmd)}
	out.stdout, out.stderr = stdout.end(), stderr.end()
	out.exit = int64(cmd.ProcessState.ExitCode())
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		out.exit = 128 + int64(status.Signal())
		out.signal = unix.SignalName(status.Signal())
	}
	return out, nil
}

// wait returns when the command and its group have ended, and whether it had to
// be told to stop.
func (p *process) wait(ctx context.Context, cmd *exec.Cmd) (stopped bool) {
	pgid := cmd.Process.Pid
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // what it says is in cmd.ProcessState
	}()

	select {
	case <-exited:
	case <-ctx.Done():
		select {
		case <-exited: // at the same time: it was not told
		default:
			stopped = true
		}
	}
	if !stopped {
		endGroup(pgid, leftoverGrace)
		return false
	}
	terminate(pgid)
	deadline := time.NewTimer(p.grace)
	defer deadline.Stop()
	// The others of the group have what the command leaves of the grace: a shell
	// dies of SIGTERM at once, what it runs may have things to put in order.
	select {
	case <-exited:
		if waitGroup(pgid, deadline.C) {
			return true
		}
	case <-deadline.C:
	}
	killGroup(pgid)
	<-exited
	return true
}

// endGroup ends what is left of a group.
func endGroup(pgid int, grace time.Duration) {
	if !groupLives(pgid) {
		return
	}
	terminate(pgid)
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	if !waitGroup(pgid, deadline.C) {
		killGroup(pgid)
	}
}

// terminate asks a group to end. One that is suspended would not hear it.
func terminate(pgid int) {
	_ = syscall.Kill(-pgid, syscall.SIGTERM)
	_ = syscall.Kill(-pgid, syscall.SIGCONT)
}

// killGroup ends a group that did not end when it was asked to.
func killGroup(pgid int) {
	_ = syscall.Kill(-pgid, syscall.SIGKILL)
	deadline := time.NewTimer(killWait)
	defer deadline.Stop()
	waitGroup(pgid, deadline.C)
}

// waitGroup waits until nothing of a group lives, and reports whether that was
// before the deadline.
func waitGroup(pgid int, deadline <-chan time.Time) bool {
	tick := time.NewTicker(pollGroup)
	defer tick.Stop()
	// To tell dead processes that nobody has waited for from others is costly, so
	// it is done ever more rarely.
	for n, scan := 1, 4; groupLives(pgid); n++ {
		if n == scan {
			if onlyZombies(pgid) {
				return true
			}
			scan *= 2
		}
		select {
		case <-tick.C:
		case <-deadline:
			return false
		}
	}
	return true
}

// groupLives reports whether a group has processes, dead ones that nobody has
// waited for included.
func groupLives(pgid int) bool {
	return syscall.Kill(-pgid, 0) != syscall.ESRCH
}

// onlyZombies reports whether all processes of a group are dead and just not
// waited for: whose parent has died is waited for by process 1, and in a
// container that may be a program that does not know of this duty. It is false
// where there is no /proc.
func onlyZombies(pgid int) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is a good one
	zombies := 0
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		// pid (name) state ppid pgrp ...; the name may have any characters.
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(fields) < 3 || fields[2] != strconv.Itoa(pgid) {
			continue
		}
		if fields[0] != "Z" && fields[0] != "X" {
			return false
		}
		zombies++
	}
	return zombies > 0
}

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

// begin closes the side of the process and starts to read.
func (s *stream) begin() {
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
