package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Why a supervisor did not start a command; it may be asked again.
var (
	errRefused = errors.New("refused: the lease is over")
	errClosed  = errors.New("the supervisor of commands is gone")
)

// errTwice is for programs that do not call Main.
var errTwice = errors.New("this process is itself a supervisor: the program must call cmd.Main before anything else")

// link is one supervisor process, and the connection to it.
type link struct {
	cmd    *exec.Cmd
	wire   *wire
	pongs  chan struct{}
	lost   chan struct{} // closed when the connection is
	exited chan struct{} // closed when the process has ended

	mu     sync.Mutex
	closed bool
	nextID uint64
	runs   map[uint64]*runOf
}

// runOf is a command as its runner knows it.
type runOf struct {
	pid     int
	lock    *lock      // which its processes hold; nil if there is none
	started chan reply // an empty one: the supervisor is lost
	ended   chan Outcome
}

// newLink starts a process and waits until it is there. It shares the seat, which
// is not free before the process, too, is gone.
func newLink(ctx context.Context, seat *lock) (*link, error) {
	if isSupervisor() {
		return nil, errTwice
	}
	path, err := program()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	w, err := newWire(ours, startWait)
	if err != nil {
		return nil, err
	}
	l := &link{
		wire: w, pongs: make(chan struct{}, 1), lost: make(chan struct{}), exited: make(chan struct{}),
		runs: map[uint64]*runOf{}, nextID: 1,
	}
	l.cmd = &exec.Cmd{
		Path: path, Args: []string{"treadle supervisor"}, Env: []string{variable + "=1"}, Stderr: os.Stderr,
		ExtraFiles: []*os.File{theirs}, // socketFD
		// Neither Ctrl-C nor a signal to the group of the runner is for it.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if seat != nil {
		l.cmd.ExtraFiles = append(l.cmd.ExtraFiles, seat.file) // seatFD
	}
	if err := l.cmd.Start(); err != nil {
		w.close()
		return nil, err
	}
	go func() {
		defer close(l.exited)
		_ = l.cmd.Wait() // how it ended makes no difference
	}()
	go l.receive()
	if err := l.waitReady(ctx); err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

func (l *link) waitReady(ctx context.Context) error {
	deadline := time.NewTimer(startWait)
	defer deadline.Stop()
	select {
	case <-l.pongs:
		return nil
	case <-l.lost:
		return errors.New("the supervisor of commands ended when it was started")
	case <-deadline.C:
		return fmt.Errorf("the supervisor of commands was not there within %s: does the program call cmd.Main?", startWait)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end ends the process with all of its commands, and waits for it.
func (l *link) end() {
	l.wire.close()
	<-l.lost
	deadline := time.NewTimer(interruptGrace + 2*killWait + time.Second)
	defer deadline.Stop()
	select {
	case <-l.exited:
	case <-deadline.C:
		_ = l.cmd.Process.Kill()
		<-l.exited
	}
	l.endRuns()
}

// endRuns ends what a supervisor that was killed left behind.
func (l *link) endRuns() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		if r.pid != 0 {
			_ = syscall.Kill(-r.pid, syscall.SIGKILL)
		}
	}
	for id, r := range l.runs {
		// The supervisor may have been killed before it said which process it started, and
		// what left the group is found by the lock alone.
		r.lock.endHolders(os.Getpid())
		if r.pid != 0 {
			killGroup(r.pid)
			r.ended <- Outcome{Stopped: true, Interrupted: true}
		} else {
			r.started <- reply{}
		}
		delete(l.runs, id)
	}
}

// receive hands the replies on until the connection ends.
func (l *link) receive() {
	defer func() {
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		close(l.lost)
	}()
	for {
		var r reply
		if err := l.wire.receive(&r); err != nil {
			return
		}
		if r.ID == 0 {
			kick(l.pongs)
			continue
		}
		l.mu.Lock()
		l.deliver(r)
		l.mu.Unlock()
	}
}

func (l *link) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *link) deliver(r reply) {
	run := l.runs[r.ID]
	if run == nil {
		return
	}
	if r.Ended != nil {
		delete(l.runs, r.ID)
		run.ended <- *r.Ended
		return
	}
	if run.pid = r.PID; r.PID == 0 {
		delete(l.runs, r.ID)
	}
	run.started <- r
}

// start asks for a command.
func (l *link) start(until instant, req *startRequest, c *Command, locked *lock) (*Process, error) {
	files := []*os.File{c.Stdout, c.Stderr}
	if locked != nil {
		files = append(files, locked.file)
	}
	run := &runOf{lock: locked, started: make(chan reply, 1), ended: make(chan Outcome, 1)}
	l.mu.Lock()
	id := l.nextID
	l.nextID++
	closed := l.closed
	if !closed {
		l.runs[id] = run
	}
	l.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	if err := l.wire.send(request{ID: id, Until: until, Start: req}, files...); err != nil {
		l.wire.close() // half of it may be there
	}
	switch r := <-run.started; {
	case r.Refused:
		return nil, errRefused
	case r.Failed != nil:
		return nil, r.Failed
	case r.PID == 0:
		return nil, ErrInterrupted
	}
	return &Process{PID: run.pid, ended: run.ended, end: func(grace time.Duration) {
		if l.wire.send(request{ID: id, Until: until, End: true, Grace: grace}) != nil {
			l.wire.close() // what it does not hear it cannot do
		}
	}}, nil
}
