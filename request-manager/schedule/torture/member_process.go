package torture

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/treadle-run/treadle/request-manager/schedule/torture/audit"
)

// endWait bounds how long a member may take to end in good order.
const endWait = 30 * time.Second

// member is a name, and one process after the other.
type member struct {
	name  string
	start func(process string) (*exec.Cmd, error)
	audit *audit.Audit
	trace string // directory of traces
	wait  time.Duration

	mu      sync.Mutex
	starts  int
	process string // name of the one that is there, or was last
	cmd     *exec.Cmd
	exited  chan struct{}
	thaw    func() // not nil while it is frozen
	busy    bool   // a fault has it
	left    bool   // for good
}

// claim takes the member for a fault; false if another has it.
func (m *member) claim() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy || m.left {
		return false
	}
	m.busy = true
	return true
}

func (m *member) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = false
}

// begin starts a process. It must not have one.
func (m *member) begin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.starts++
	m.process = fmt.Sprintf("%s.%d", m.name, m.starts)
	cmd, err := m.start(m.process)
	if err != nil {
		return fmt.Errorf("%s: %w", m.process, err)
	}
	exited, audit, process := make(chan struct{}), m.audit, m.process
	m.cmd, m.exited = cmd, exited
	// It lives as long as the process, and whoever ends that waits for it.
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		audit.Ended(process)
		close(exited)
	}()
	return nil
}

// kill kills the process, also a frozen one.
func (m *member) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill() // one that has ended is as good
	<-m.exited
	m.cmd, m.thaw = nil, nil
}

// end ends the process in good order, which must succeed.
func (m *member) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil {
		return
	}
	began := time.Now()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		m.audit.Violation("end of a member", "%s: SIGTERM: %v", m.process, err)
	}
	late := time.NewTimer(m.wait)
	defer late.Stop()
	select {
	case <-m.exited:
		if code := m.cmd.ProcessState.ExitCode(); code != 0 && m.begun() {
			m.audit.Violation("end of a member", "%s exited with %d after SIGTERM", m.process, code)
		}
	case <-late.C:
		m.audit.Violation("end of a member", "%s did not end within %s after SIGTERM", m.process, time.Since(began).Round(time.Second))
		_ = m.cmd.Process.Kill()
		<-m.exited
	}
	m.cmd = nil
}

// begun reports whether the process came as far as to work. Before that it may not know
// yet what SIGTERM means.
func (m *member) begun() bool {
	_, err := os.Stat(filepath.Join(m.trace, m.process))
	return err == nil
}

// freeze stops the process; thawed lets it go on.
func (m *member) freeze() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil {
		return errEnded
	}
	if err := m.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	m.thaw = m.audit.Freeze(m.process)
	return nil
}

func (m *member) thawed() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.thaw == nil {
		return nil
	}
	m.thaw()
	m.thaw = nil
	return m.cmd.Process.Signal(syscall.SIGCONT)
}

// died reports whether the process ended by itself, and forgets it.
func (m *member) died() (process string, code int, died bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy || m.left || m.cmd == nil {
		return "", 0, false
	}
	select {
	case <-m.exited:
		code = m.cmd.ProcessState.ExitCode()
		m.cmd = nil
		return m.process, code, true
	default:
		return "", 0, false
	}
}

// starter returns how processes of member i are started.
func (t *test) starter(name string, i int) func(process string) (*exec.Cmd, error) {
	return func(process string) (*exec.Cmd, error) {
		logFile, err := os.OpenFile(filepath.Join(t.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		defer logFile.Close() //nolint:errcheck // the child has its own copy
		flags := MemberOptions{Run: t.run, Process: process, Dir: t.dir, Scale: t.o.Scale, Seed: t.o.Seed}.flags()
		cmd := exec.Command(t.o.Program, append(append([]string(nil), t.o.Args...), flags...)...) //nolint:noctx // it outlives any context: it is ended in good order
		cmd.Env = os.Environ()
		if t.o.MemberEnv != nil {
			cmd.Env = append(cmd.Env, t.o.MemberEnv(i)...)
		}
		cmd.Stdout, cmd.Stderr = logFile, logFile
		cmd.SysProcAttr = attr()
		return cmd, cmd.Start()
	}
}
