package main

import (
	"fmt"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/treadle-run/treadle/test/process"
)

// service is a manager or a runner: a name, and one process after the other.
type service struct {
	s    *system
	name string
	verb string
	env  func() []string

	mu     sync.Mutex
	addr   string // where it listens
	url    string // how others reach it
	proc   *process.Process
	starts int
	busy   bool // a fault has it
}

// start starts a process. The address it had stays the same.
func (x *service) start() error {
	env := x.env()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.starts++
	env = append(env, x.s.marker, "TREADLE_CLUSTER_SECRET="+clusterSecret, "FAULTS_DIR="+x.s.dir, fmt.Sprintf("FAULTS_RUNNER=%s.%d", x.name, x.starts))
	p, err := process.Start(x.s.bin, x.logPath(), []string{x.verb}, env...)
	if err != nil {
		return fmt.Errorf("%s: %w", x.name, err)
	}
	x.proc = p
	return nil
}

func (x *service) logPath() string { return filepath.Join(x.s.dir, x.name+".log") }

func (x *service) address() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.addr
}

// baseURL returns how others reach the service.
func (x *service) baseURL() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.url
}

func (x *service) process() *process.Process {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.proc
}

func (x *service) pid() int {
	if p := x.process(); p != nil {
		return p.PID()
	}
	return 0
}

func (x *service) ended() bool {
	p := x.process()
	return p == nil || p.Ended()
}

func (x *service) signal(sig syscall.Signal) error { return x.process().Signal(sig) }

// end ends the process, also a frozen one.
func (x *service) end(sig syscall.Signal) {
	p := x.process()
	if p == nil || p.Ended() {
		return
	}
	_ = p.Signal(syscall.SIGCONT) // errors say that it is gone
	if err := p.End(sig); err != nil {
		x.s.o.say("%s: %v; killed", x.name, err)
		_ = p.End(syscall.SIGKILL)
	}
}

// claim takes the service for a fault; false if another one has it.
func (x *service) claim() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.busy {
		return false
	}
	x.busy = true
	return true
}

func (x *service) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.busy = false
}

// died reports whether the process has ended although no fault has the service.
func (x *service) died() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.busy && x.proc != nil && x.proc.Ended()
}
