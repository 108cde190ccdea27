package supervise

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// interruptGrace is how long commands have between SIGTERM and SIGKILL when
// their right to run has ended.
const interruptGrace = 2 * time.Second

// maxArgs bounds the bytes of arguments and environment that are sent to a
// supervisor. No system takes as much for one program.
const maxArgs = 8 << 20

// Command is what is to be started.
type Command struct {
	Argv []string // the program, looked for in PATH if it has no slash, and its arguments
	Env  []string // all of its environment
	Dir  string   // "": that of the runner
	// Stdout and Stderr stay the caller's, who closes them once Start has returned.
	Stdout, Stderr *os.File
	// Files are paths of files that were made for the command. They are given to the
	// user that it runs as.
	Files []string
	// Lock, if not "", names what at most one command on this host may be at a time.
	// Local ignores it.
	Lock string
}

// Starter starts commands.
type Starter interface {
	// Start starts a command in a session, and so in a process group, of its own.
	// An error says that nothing runs. It may wait for the right to run, and for an
	// earlier command of the same lock to be gone, but not after ctx has ended.
	Start(ctx context.Context, c *Command) (*Process, error)
}

// Outcome is how a command ended.
type Outcome struct {
	Status syscall.WaitStatus
	// Stopped says that it was told to end before it ended.
	Stopped bool
	// Interrupted says that it was not Process.Wait that told it, but a supervisor,
	// since the right to run had ended or the supervisor itself was gone. Of the
	// Status nothing is known then.
	Interrupted bool
	// Leftovers names processes that a command which ended by itself left behind, and
	// that were ended: the first of them.
	Leftovers []string
}

// Process is a command that was started. Wait must be called, once.
type Process struct {
	PID   int // and id of its process group
	ended chan Outcome
	end   func(grace time.Duration)
}

// Wait returns when the command and all of its group have ended. If ctx ends
// before, the group is told to end with SIGTERM, and made to with SIGKILL after
// the grace for the cause that ctx ended with.
func (p *Process) Wait(ctx context.Context, grace func(cause error) time.Duration) Outcome {
	select {
	case out := <-p.ended:
		return out
	case <-ctx.Done():
	}
	p.end(grace(context.Cause(ctx)))
	return <-p.ended
}

type starterKey struct{}

// With returns a context that carries what starts commands.
func With(ctx context.Context, s Starter) context.Context {
	return context.WithValue(ctx, starterKey{}, s)
}

// From returns what starts commands in this context: Local if nothing was set.
func From(ctx context.Context) Starter {
	if s, ok := ctx.Value(starterKey{}).(Starter); ok {
		return s
	}
	return Local{}
}

// Local starts commands as children of this process. They may outlive it.
type Local struct{}

// Start starts a command.
func (Local) Start(ctx context.Context, c *Command) (*Process, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	cmd, err := c.prepare()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ch := newChild(cmd)
	p := &Process{PID: ch.pgid, ended: make(chan Outcome, 1), end: func(grace time.Duration) { ch.end(grace, false) }}
	go func() { p.ended <- ch.run() }()
	return p, nil
}

// prepare finds the program.
func (c *Command) prepare() (*exec.Cmd, error) {
	cmd := exec.CommandContext(context.Background(), c.Argv[0], c.Argv[1:]...)
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	cmd.Env, cmd.Dir = environment(c.Env), c.Dir
	return cmd, nil
}

// environment is an environment that is not that of this process, even if it has
// nothing.
func environment(vars []string) []string {
	if vars == nil {
		return []string{}
	}
	return vars
}
