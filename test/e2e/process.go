package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Process is a service that a test started.
type Process struct {
	t    testing.TB
	cmd  *exec.Cmd
	log  string        // the file that it writes its output to
	done chan struct{} // closed when it has ended

	Name string // such as "job-runner 2"
	Addr string // where it listens: host:port
	// StartedAt is when it was started.
	StartedAt time.Time
}

// startTimeout and endTimeout are for a machine that does a lot besides.
const (
	startTimeout = time.Minute
	endTimeout   = time.Minute
)

// startVerb starts a verb of the binary. It has nothing of the test's own
// environment that Treadle looks at.
func (e *Env) startVerb(verb, addr string, env []string) *Process {
	e.t.Helper()
	cmd := exec.Command(program(e.t, e.Package), verb)
	cmd.Dir = e.Dir
	cmd.Env = append(cleanEnv(), env...)
	return e.startProcess(cmd, verb, addr)
}

// StartCommand starts any other command that serves at addr. It gets a process
// group of its own, and so do signals to it.
func (e *Env) StartCommand(cmd *exec.Cmd, addr string) *Process {
	e.t.Helper()
	if cmd.Env == nil {
		cmd.Env = cleanEnv()
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return e.startProcess(cmd, filepath.Base(cmd.Path), addr)
}

func (e *Env) startProcess(cmd *exec.Cmd, name, addr string) *Process {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	name = fmt.Sprintf("%s %d", name, len(e.processes)+1)
	p := &Process{t: e.t, cmd: cmd, Name: name, Addr: addr, done: make(chan struct{})}
	p.log = filepath.Join(e.Dir, strings.ReplaceAll(name, " ", "-")+".log")
	out, err := os.Create(p.log)
	if err != nil {
		e.t.Fatal(err)
	}
	defer func() { _ = out.Close() }() // the process has it, too
	cmd.Stdout, cmd.Stderr = out, out
	p.StartedAt = time.Now()
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(p.done)
	}()
	e.processes = append(e.processes, p)
	return p
}

func cleanEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TREADLE_") {
			env = append(env, v)
		}
	}
	return env
}

// Run runs the binary to its end, as a user does at a prompt, against the first
// Request Manager if there is one.
func (e *Env) Run(args ...string) (stdout, stderr string, exit int) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, Binary(e.t), args...)
	cmd.Dir = RepoDir()
	cmd.Env = cleanEnv()
	if e.rmURL != "" {
		cmd.Env = append(cmd.Env, "TREADLE_ADDR="+e.rmURL)
	}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || ctx.Err() != nil {
		e.t.Fatalf("treadle %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// URL returns the base URL of the service.
func (p *Process) URL() string { return "http://" + p.Addr }

// PID returns its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Signal sends a signal and does not wait for anything.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.signal(s); err != nil {
		p.t.Fatalf("%s: %v", p.Name, err)
	}
}

func (p *Process) signal(s syscall.Signal) error {
	if p.Ended() {
		return nil
	}
	if p.cmd.SysProcAttr != nil && p.cmd.SysProcAttr.Setpgid {
		return syscall.Kill(-p.PID(), s)
	}
	if err := p.cmd.Process.Signal(s); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Wait waits until the process has ended and returns its exit code, -1 if a
// signal killed it.
func (p *Process) Wait(timeout time.Duration) int {
	p.t.Helper()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	select {
	case <-p.done:
	case <-deadline.C:
		p.t.Fatalf("%s has not ended within %s", p.Name, timeout)
	}
	return p.cmd.ProcessState.ExitCode()
}

// Term ends the process with SIGTERM, waits for it, and returns its exit code.
func (p *Process) Term() int {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	return p.Wait(endTimeout)
}

// Kill9 ends the process as a crash would.
func (p *Process) Kill9() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	p.Wait(endTimeout)
}

// end ends the process whatever the test did to it.
func (p *Process) end() {
	if p.Ended() {
		return
	}
	// Errors say that it is gone, which is what is waited for next.
	_ = p.signal(syscall.SIGCONT) // a frozen one would not hear the next
	_ = p.signal(syscall.SIGTERM)
	deadline := time.NewTimer(endTimeout)
	defer deadline.Stop()
	select {
	case <-p.done:
	case <-deadline.C:
		p.t.Errorf("%s did not end within %s of SIGTERM", p.Name, endTimeout)
		_ = p.signal(syscall.SIGKILL)
		<-p.done
	}
}

// WaitReady waits until the service says that it is ready.
func (p *Process) WaitReady() {
	p.t.Helper()
	p.waitHTTP("/readyz")
}

// waitHTTP waits until the service answers 200 at the path.
func (p *Process) waitHTTP(path string) {
	p.t.Helper()
	Eventually(p.t, startTimeout, p.Name+" answers "+path, func() bool {
		if p.Ended() {
			p.t.Fatalf("%s ended with exit code %d", p.Name, p.cmd.ProcessState.ExitCode())
		}
		resp, err := http.Get(p.URL() + path)
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// Output returns all that the process has said so far.
func (p *Process) Output() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (p *Process) lastOutput() string {
	out := p.Output()
	return out[max(0, len(out)-16<<10):]
}

// complaint returns what no process may ever say: a data race, a panic that nobody
// caught, or that what a runner handed back or the database has is not as it must be.
func (p *Process) complaint() string {
	out := p.Output()
	for _, mark := range []string{"WARNING: DATA RACE", "\npanic: ", "\nfatal error: ",
		"differs from a replay of the job log", "does not fit the job chain", "violates an invariant"} {
		if i := strings.Index(out, mark); i >= 0 {
			return out[i:min(len(out), i+4<<10)]
		}
	}
	return ""
}
