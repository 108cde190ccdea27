package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/treadle-run/treadle/internal/private"
)

// variable in the environment makes this program a supervisor; see Main.
const variable = "TREADLE_SUPERVISOR"

// socketFD is where a supervisor finds its end of the socket pair.
const socketFD = 3

// maxNap bounds the time between two looks at the clock: a timer stands still
// while the machine sleeps.
const maxNap = time.Second

// isSupervisor reports whether this process was started as a supervisor.
func isSupervisor() bool { return os.Getenv(variable) != "" }

// Main is the whole program if this process was started as a supervisor, and
// returns at once otherwise. A program whose runners start commands calls it
// before anything else; so does the TestMain of its tests. As process 1, of a container,
// it runs the program as its child and does not return either.
func Main() {
	if os.Getpid() == 1 {
		os.Exit(runAsInit())
	}
	if !isSupervisor() {
		return
	}
	// See attributes: what starts commands must live as long as the process.
	runtime.LockOSThread()
	_ = private.Hide() // it has what its commands are given
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "treadle supervisor:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve() error {
	ignoreSignals()
	if err := becomeReaper(); err != nil {
		fmt.Fprintln(os.Stderr, "treadle supervisor: processes that leave the group of their command are not found:", err)
	}
	syscall.CloseOnExec(socketFD)
	syscall.CloseOnExec(seatFD) // commands must not have it
	w, err := newWire(os.NewFile(socketFD, "runner"), 0)
	if err != nil {
		return fmt.Errorf("no connection to a runner: %w", err)
	}
	defer w.close()
	s := &server{
		wire: w, runner: os.Getppid(),
		requests: make(chan incoming), lost: make(chan struct{}),
		children: map[uint64]*child{}, gone: make(chan uint64),
		died: make(chan os.Signal, 1),
	}
	signal.Notify(s.died, syscall.SIGCHLD)
	defer signal.Stop(s.died)
	if err := w.send(reply{}); err != nil {
		return err
	}
	go s.receive()
	s.loop()
	return nil
}

// ignoreSignals lets all signals pass that are meant for the runner: a supervisor
// ends when its runner does. SIGPIPE is one of them: who reads its stderr may go away. They are caught, since commands would inherit it if
// they were ignored.
func ignoreSignals() {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE} {
		if !signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// server is a supervisor. Its loop owns all fields but wire.
type server struct {
	wire   *wire
	runner int // its process id

	requests chan incoming
	lost     chan struct{} // closed when the runner is gone
	until    instant
	children map[uint64]*child
	gone     chan uint64    // commands that have ended
	died     chan os.Signal // a child has
	commands sync.Map       // process ids of the children that are commands
}

// incoming is a request with the files that came along.
type incoming struct {
	request
	files []*os.File
}

// receive hands on what the runner says. It ends with the connection.
func (s *server) receive() {
	defer close(s.lost)
	for {
		var r incoming
		err := s.wire.receive(&r.request)
		if err == nil && r.Start != nil {
			r.files, err = s.wire.take(r.Start.files())
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
				fmt.Fprintln(os.Stderr, "treadle supervisor: the runner is taken for lost:", err)
			}
			return
		}
		s.requests <- r
	}
}

// loop serves the runner, and returns when it is gone and no command is left.
func (s *server) loop() {
	nap := time.NewTimer(maxNap)
	lost := s.lost
	for {
		left := s.until.left()
		if left <= 0 {
			s.interrupt()
		}
		if lost == nil && len(s.children) == 0 {
			return
		}
		nap.Reset(min(max(left, time.Millisecond), maxNap))
		if left <= 0 || len(s.children) == 0 {
			nap.Stop() // nothing can become late
		}
		select {
		case r := <-s.requests:
			s.handle(r)
		case id := <-s.gone:
			s.commands.Delete(s.children[id].pgid)
			delete(s.children, id)
		case <-s.died:
			reap(s.isCommand)
		case <-nap.C:
		case <-lost:
			lost, s.until = nil, 0
		}
	}
}

// interrupt ends all commands: the right to run them has ended.
func (s *server) interrupt() {
	for _, c := range s.children {
		if !c.wasInterrupted() {
			c.end(interruptGrace, true)
		}
	}
}

func (s *server) handle(r incoming) {
	s.until = max(s.until, r.Until)
	switch {
	case r.Start != nil:
		s.start(r)
	case r.End:
		if c := s.children[r.ID]; c != nil {
			c.end(r.Grace, false)
		}
	case r.Ping:
		go s.reply(reply{})
	}
}

// start starts a command, unless the right to run has ended.
func (s *server) start(r incoming) {
	if s.until.left() <= 0 {
		closeAll(r.files)
		go s.reply(reply{ID: r.ID, Refused: true})
		return
	}
	cmd := &exec.Cmd{
		Path: r.Start.Path, Args: r.Start.Argv, Env: environment(r.Start.Env), Dir: r.Start.Dir,
		Stdout: r.files[0], Stderr: r.files[1], SysProcAttr: attributes(),
	}
	cmd.SysProcAttr.Credential = r.Start.User.credential()
	var locked *lock
	if r.Start.Lock != "" {
		locked = &lock{path: r.Start.Lock, file: r.files[2]}
		cmd.ExtraFiles = locked.inherited()
	}
	err := cmd.Start()
	closeAll(r.files[:2])
	if err != nil {
		locked.release()
		go s.reply(reply{ID: r.ID, Failed: newStartError(err)})
		return
	}
	s.commands.Store(cmd.Process.Pid, true)
	c := newChild(cmd)
	c.lock, c.reaper, c.isCommand = locked, os.Getpid(), s.isCommand
	s.children[r.ID] = c
	go s.watch(r.ID, c, locked)
}

// isCommand reports whether a process is a command that has not been waited for.
func (s *server) isCommand(pid int) bool {
	_, ok := s.commands.Load(pid)
	return ok
}

// watch sees a command to its end and tells the runner.
func (s *server) watch(id uint64, c *child, locked *lock) {
	told := make(chan struct{})
	go func() {
		defer close(told)
		s.reply(reply{ID: id, PID: c.pgid})
	}()
	out := c.run()
	if c.wasInterrupted() {
		locked.endHolders(os.Getpid(), s.runner)
		locked.close()
	} else {
		locked.release()
	}
	s.gone <- id
	<-told
	s.reply(reply{ID: id, Ended: &out})
}

// reply tells the runner something. It waits for a runner that is frozen, so the
// loop must not call it. What a runner that is gone is told is lost.
func (s *server) reply(r reply) { _ = s.wire.send(r) }

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
