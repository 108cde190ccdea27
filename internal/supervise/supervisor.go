package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// startWait bounds the wait for a supervisor to be there.
	startWait = 30 * time.Second
	// pingEvery is how often a supervisor is asked whether it is still there, and
	// maxMissed how often it may give no answer before it is taken for broken.
	pingEvery = 5 * time.Second
	maxMissed = 6
	// restartWait is the time between two attempts to start one.
	restartWait = time.Second
	// leaseStep is by how much the lease must grow before a supervisor is told.
	leaseStep = 200 * time.Millisecond
)

// ErrInterrupted is the error of Start if it is not known whether the command
// had started when the supervisor process was lost. It has ended.
var ErrInterrupted = errors.New("the supervisor of commands was killed")

// Supervisor is the runner's side: it keeps a supervisor process as long as Run
// runs, from the first command on.
type Supervisor struct {
	log    *slog.Logger
	user   *User         // whom commands run as; nil: this one
	pings  time.Duration // between two of them
	wanted chan struct{} // a command is there
	lease  chan struct{} // the lease grew

	mu      sync.Mutex
	until   instant
	renewed chan struct{} // closed when the lease grows
	link    *link         // nil while there is no process
	err     error         // why there is none
	changed chan struct{} // closed when one of the two changes
	locks   *locks

	seat *lock // of the runner's address, see Succeed; nil if it has none
}

// New returns a Supervisor without a process yet, and without a lease. Its commands run
// as the user of this process.
func New(log *slog.Logger) *Supervisor { return NewAs(log, nil) }

// NewAs is New for commands that run as another user: see LookupUser.
func NewAs(log *slog.Logger, u *User) *Supervisor {
	return &Supervisor{
		log: log, user: u, pings: pingEvery,
		wanted: make(chan struct{}, 1), lease: make(chan struct{}, 1),
		renewed: make(chan struct{}), changed: make(chan struct{}),
	}
}

// Lease says until when commands may run; an earlier time than before changes
// nothing. It does not block.
func (s *Supervisor) Lease(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := instantOf(until)
	if i < s.until+instant(leaseStep) {
		return
	}
	s.until = i
	close(s.renewed)
	s.renewed = make(chan struct{})
	kick(s.lease)
}

func kick(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run keeps a supervisor process until ctx ends; another one, if it dies. When it
// returns, the process and all commands that it started have ended.
func (s *Supervisor) Run(ctx context.Context) {
	defer func() { s.seat.release() }()
	select {
	case <-s.wanted:
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		l, err := s.start(ctx)
		if err == nil {
			s.set(l, nil)
			err = s.serve(ctx, l)
			s.set(nil, err)
			l.end()
		} else {
			s.set(nil, err)
		}
		if ctx.Err() != nil {
			return
		}
		s.log.Error("no supervisor of commands, starting one", "error", err)
		wait := time.NewTimer(restartWait)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
	}
}

// start starts a process.
func (s *Supervisor) start(ctx context.Context) (*link, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	return newLink(ctx, s.seat)
}

// prepare prepares the directory of locks, once.
func (s *Supervisor) prepare() error {
	if s.locks != nil {
		return nil
	}
	locks, err := newLocks(s.log)
	if err != nil {
		return fmt.Errorf("no directory for lock files: %w", err)
	}
	locks.sweep()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locks = locks
	return nil
}

// serve tells the process of the lease, and asks whether it is still there.
func (s *Supervisor) serve(ctx context.Context, l *link) error {
	tick := time.NewTicker(s.pings)
	defer tick.Stop()
	missed := 0
	for {
		r := request{Until: s.leasedUntil()}
		select {
		case <-s.lease:
			r.Until = s.leasedUntil()
		case <-l.pongs:
			missed = 0
			continue
		case <-tick.C:
			if missed++; missed > maxMissed {
				return errors.New("the supervisor of commands does not answer")
			}
			r.Ping = true
		case <-l.lost:
			return ErrInterrupted
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := l.wire.send(r); err != nil {
			return fmt.Errorf("cannot send to the supervisor of commands: %w", err)
		}
	}
}

func (s *Supervisor) leasedUntil() instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.until
}

func (s *Supervisor) set(l *link, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link, s.err = l, err
	close(s.changed)
	s.changed = make(chan struct{})
}

// Start starts a command under the supervisor. It waits while there is no lease,
// and, if the command names a lock, for up to 30 s for what has it. While there is
// no supervisor process it fails after a while, with the reason.
func (s *Supervisor) Start(ctx context.Context, c *Command) (*Process, error) {
	cmd, err := c.prepare()
	if err != nil {
		return nil, err
	}
	size := 0
	for _, list := range [][]string{c.Argv, c.Env} {
		for _, text := range list {
			size += len(text)
		}
	}
	if size > maxArgs {
		return nil, syscall.E2BIG
	}
	if err := s.user.give(c.Files); err != nil {
		return nil, err
	}
	r := &startRequest{Path: cmd.Path, Argv: c.Argv, Env: s.user.environ(c.Env), Dir: c.Dir, User: s.user}
	for {
		p, err := s.try(ctx, c, r)
		if !errors.Is(err, errRefused) && !errors.Is(err, errClosed) {
			return p, err
		}
	}
}

// try asks for the start once.
func (s *Supervisor) try(ctx context.Context, c *Command, r *startRequest) (*Process, error) {
	if err := s.waitLease(ctx); err != nil {
		return nil, err
	}
	l, err := s.waitLink(ctx)
	if err != nil {
		return nil, err
	}
	r.Lock = ""
	var locked *lock
	if c.Lock != "" {
		if locked, err = s.locks.acquire(ctx, c.Lock); err != nil {
			return nil, err
		}
		r.Lock = locked.path
	}
	p, err := l.start(s.leasedUntil(), r, c, locked)
	switch {
	case err == nil:
		locked.close() // the supervisor and the command have it
	case errors.Is(err, ErrInterrupted):
		// The supervisor is gone, and never told which process it had started.
		locked.endHolders(os.Getpid())
		locked.close()
	default:
		locked.release()
	}
	return p, err
}

// waitLease waits until the runner may run commands.
func (s *Supervisor) waitLease(ctx context.Context) error {
	for {
		s.mu.Lock()
		left, renewed := s.until.left(), s.renewed
		s.mu.Unlock()
		if left > 0 {
			return nil
		}
		select {
		case <-renewed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waitLink waits for a process.
func (s *Supervisor) waitLink(ctx context.Context) (*link, error) {
	kick(s.wanted)
	deadline := time.NewTimer(startWait)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		l, err, changed := s.link, s.err, s.changed
		s.mu.Unlock()
		if l != nil && !l.isClosed() {
			return l, nil
		}
		select {
		case <-changed:
		case <-deadline.C:
			if err == nil {
				err = errClosed
			}
			return nil, fmt.Errorf("no command can be started: %w", err)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
