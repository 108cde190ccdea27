package torture

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/test/process"
)

// Service is a name, and one process after the other. At most one fault has it at a
// time. Its methods are safe for concurrent use.
type Service struct {
	Name string
	// Launch starts its process of that name, which is new each time.
	Launch func(process string) (*process.Process, error)
	// Exited, if not nil, is told that a process has ended, before anyone else is.
	Exited func(process string)

	mu     sync.Mutex
	starts int
	last   string // name of the process that is there, or was last
	proc   *process.Process
	exited chan struct{} // closed when proc has ended and Exited was told
	busy   bool          // a fault has it
	left   bool          // for good
}

// Claim takes the service for a fault; false if another one has it, or it has left.
func (s *Service) Claim() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy || s.left {
		return false
	}
	s.busy = true
	return true
}

// claimDied takes the service if its process has ended although no fault has it.
func (s *Service) claimDied() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy || s.left || s.proc == nil || !s.ended() {
		return false
	}
	s.busy = true
	return true
}

// Release gives the service back.
func (s *Service) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
}

// Leave says that the service is not started any more.
func (s *Service) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = true
}

// Start starts a process. There must be none.
func (s *Service) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts++
	name := fmt.Sprintf("%s.%d", s.Name, s.starts)
	p, err := s.Launch(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	exited := make(chan struct{})
	s.last, s.proc, s.exited = name, p, exited
	// It lives as long as the process, and whoever ends that waits for it.
	go func() {
		<-p.Exited()
		if s.Exited != nil {
			s.Exited(name)
		}
		close(exited)
	}()
	return nil
}

// Process returns the name of the process that is there, or was last.
func (s *Service) Process() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// PID returns the process id, 0 if there is none.
func (s *Service) PID() int {
	if p, _ := s.current(); p != nil {
		return p.PID()
	}
	return 0
}

func (s *Service) current() (*process.Process, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc, s.exited
}

// Ended reports whether there is no process that runs.
func (s *Service) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc == nil || s.ended()
}

func (s *Service) ended() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// ExitCode returns the exit code of a process that has ended, -1 if a signal killed it.
func (s *Service) ExitCode() int {
	p, exited := s.current()
	<-exited
	return p.ExitCode()
}

// Signal signals the process; the error is ErrEnded if there is none.
func (s *Service) Signal(sig syscall.Signal) error {
	if s.Ended() {
		return ErrEnded
	}
	p, _ := s.current()
	return p.Signal(sig)
}

// Kill kills the process, also a frozen one, and waits until it is gone.
func (s *Service) Kill() {
	if p, exited := s.current(); p != nil {
		_ = p.Signal(syscall.SIGKILL) // one that has ended is as good
		<-exited
	}
}

// Terminate ends the process in good order, also a frozen one. One that takes too long
// is killed, and the error says so. One that has ended before is no error.
func (s *Service) Terminate(limit time.Duration) error {
	p, exited := s.current()
	if p == nil {
		return nil
	}
	for _, sig := range []syscall.Signal{syscall.SIGCONT, syscall.SIGTERM} {
		if err := p.Signal(sig); err != nil {
			return fmt.Errorf("%s: %s: %w", s.Name, sig, err)
		}
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-exited:
		return nil
	case <-late.C:
		s.Kill()
		return fmt.Errorf("%s did not end within %s after SIGTERM", s.Process(), limit)
	}
}

// Keep starts services again that have ended by themselves, as the system that runs
// them does, until ctx ends. Died is told of each before it is started.
func Keep(ctx context.Context, interval time.Duration, services func() []*Service, died func(s *Service), say Say) {
	for wait.For(ctx, interval) == nil {
		for _, s := range services() {
			if !s.claimDied() {
				continue
			}
			died(s)
			if err := s.Start(); err != nil { // it is tried again the next time
				say.Printf("%v", err)
			}
			s.Release()
		}
	}
}
