package supervise

import (
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// child is a command that is a child of this process, with all of its group.
type child struct {
	cmd  *exec.Cmd
	pgid int
	told chan struct{}
	// lock is the file that the command and what it starts have; nil if it has none.
	lock *lock
	// reaper is the process that what the command leaves behind becomes a child of, and
	// isCommand tells the other commands among its children; 0 and nil if there is none.
	reaper    int
	isCommand func(pid int) bool
	known     map[int]string // processes that were told to end, and when they started: see hold

	mu       sync.Mutex
	deadline time.Time // for SIGKILL; zero before it is told to end
	// interrupted says that its right to run ended.
	interrupted bool
}

// newChild takes over a command that has just been started in a session of its
// own.
func newChild(cmd *exec.Cmd) *child {
	return &child{cmd: cmd, pgid: cmd.Process.Pid, told: make(chan struct{}, 1), known: map[int]string{}}
}

// end tells the group to end within the grace. It does not wait. Of several
// graces the one that is over first counts.
func (c *child) end(grace time.Duration, interrupted bool) {
	c.mu.Lock()
	if d := time.Now().Add(grace); c.deadline.IsZero() || d.Before(c.deadline) {
		c.deadline = d
	}
	c.interrupted = c.interrupted || interrupted
	c.mu.Unlock()
	select {
	case c.told <- struct{}{}:
	default:
	}
}

func (c *child) left() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.deadline)
}

func (c *child) wasInterrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.interrupted
}

// run returns when the command and its group have ended. What the command
// leaves behind when it ends by itself is ended, too.
func (c *child) run() Outcome {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = c.cmd.Wait() // what it says is in ProcessState
	}()
	var out Outcome
	select {
	case <-exited:
	case <-c.told:
		select {
		case <-exited: // at the same time: it was not told
		default:
			out.Stopped = true
		}
	}
	switch {
	case out.Stopped:
		c.terminate()
		c.finish(exited)
	case c.anyLeft():
		out.Leftovers = c.endLeftovers()
	}
	out.Interrupted = out.Stopped && c.wasInterrupted()
	out.Status, _ = c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return out
}

// finish waits for the end of a group that was told to end, and makes it end at
// the deadline. When the command itself has ended, the others of the group have
// what is left of the grace: a shell dies of SIGTERM at once, what it runs may
// have things to put in order.
func (c *child) finish(exited <-chan struct{}) {
	kill := time.NewTimer(c.left())
	defer kill.Stop()
	tick := time.NewTicker(pollGroup)
	defer tick.Stop()
	var check <-chan time.Time
	group := groupWatch{pgid: c.pgid}
	for dead := exited; ; {
		select {
		case <-dead:
			dead, check = nil, tick.C
		case <-check:
		case <-c.told: // perhaps with a shorter grace
			kill.Reset(c.left())
			continue
		case <-kill.C:
			c.kill()
			<-exited
			return
		}
		if check != nil && group.gone() && len(c.living()) == 0 {
			return
		}
	}
}
