package schedule

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/test/process"
	"github.com/treadle-run/treadle/test/torture"
)

// endLimit is how long a member may take to end in good order.
const endLimit = 30 * time.Second

// addMember makes a member that has no process yet.
func (t *test) addMember(name string) *torture.Service {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := len(t.members)
	m := &torture.Service{
		Name: name, Exited: t.audit.Ended,
		Launch: func(process string) (*process.Process, error) { return t.launch(process, i, t.logPath(name)) },
	}
	t.members = append(t.members, m)
	return m
}

// launch starts a process of member i. It has the configuration of this process, and
// the server that is its own of a database that the test has started.
func (t *test) launch(name string, i int, log string) (*process.Process, error) {
	flags := MemberOptions{Run: t.run, Process: name, Dir: t.dir, Scale: t.o.Scale, Seed: t.o.Seed}.flags()
	var env []string
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "TREADLE_") {
			env = append(env, v)
		}
	}
	if t.own != nil {
		env = append(env, t.own.Env(i, "")...)
	}
	return process.Start(t.o.Program, log, slices.Concat(t.o.Args, flags), env...)
}

func (t *test) logPath(member string) string { return filepath.Join(t.dir, member+".log") }

// all returns the members that were ever there.
func (t *test) all() []*torture.Service {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.members)
}

func (t *test) member(name string) *torture.Service {
	for _, m := range t.all() {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// end ends the process of a member in good order, which must succeed.
func (t *test) end(m *torture.Service) {
	if m.Ended() {
		return
	}
	if err := m.Terminate(endLimit * time.Duration(t.o.Slack)); err != nil {
		t.found.Add("end of a member", "%v", err)
		return
	}
	if code := m.ExitCode(); code != 0 && t.hasStarted(m) {
		t.found.Add("end of a member", "%s exited with %d after SIGTERM", m.Process(), code)
	}
}

// hasStarted reports whether the process came as far as to work. Before that it may not
// know yet what SIGTERM means.
func (t *test) hasStarted(m *torture.Service) bool {
	_, err := os.Stat(filepath.Join(t.dir, traceDir, m.Process()))
	return err == nil
}

// checkLogs finds in the logs of members what none may ever say.
func (t *test) checkLogs() {
	for _, m := range t.all() {
		t.found.CheckLog(m.Name, t.logPath(m.Name))
	}
}
