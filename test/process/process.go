// Package process starts programs for tests that run a whole Treadle, signals
// them and waits for them. It never touches a process that it did not start, and
// knows nothing of Treadle but the names of its variables.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// endTimeout bounds how long End waits.
const endTimeout = time.Minute

// Process is one that was started here. Its methods are safe for concurrent use.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start starts a program that writes its output to the end of a file. It gets the
// environment of this process, without what configures Treadle, and env. On Linux
// it dies with this process, however that ends.
func Start(bin, logPath string, args []string, env ...string) (*Process, error) {
	logFile, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer logFile.Close() //nolint:errcheck // the child has its own copy
	p := &Process{cmd: exec.Command(bin, args...), exited: make(chan struct{})}
	p.cmd.Env = append(CleanEnv(), env...)
	p.cmd.Stdout, p.cmd.Stderr = logFile, logFile
	p.cmd.SysProcAttr = attr()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in ProcessState
		close(p.exited)
	}()
	return p, nil
}

// CleanEnv returns the environment of this process without the variables that
// configure Treadle.
func CleanEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TREADLE_") {
			env = append(env, v)
		}
	}
	return env
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// ExitCode returns the exit code of a process that has ended, -1 if a signal
// killed it.
func (p *Process) ExitCode() int {
	<-p.exited
	return p.cmd.ProcessState.ExitCode()
}

// Signal signals the process alone, not what it started. One that has ended
// already is no error.
func (p *Process) Signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// End signals the process and waits until it is gone, at most a minute.
func (p *Process) End(sig syscall.Signal) error {
	if err := p.Signal(sig); err != nil {
		return err
	}
	late := time.NewTimer(endTimeout)
	defer late.Stop()
	select {
	case <-p.exited:
		return nil
	case <-late.C:
		return fmt.Errorf("process %d did not end after signal %s", p.PID(), sig)
	}
}
