package requests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/treadle-run/treadle/test/poll"
	"github.com/treadle-run/treadle/test/process"
	"github.com/treadle-run/treadle/test/torture"
)

// orphanGrace is how long processes of jobs may take to go when their request
// has ended, and processes of services when these have.
const orphanGrace = 5 * time.Second

// marked is a process that has our marker in its environment.
type marked struct {
	pid int
	job string // request and job, if it belongs to one
	cmd string
}

// findMarked returns all living processes that were started by, or below, what
// was started here.
func findMarked(marker string) []marked {
	var out []marked
	paths, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is a good one
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte(marker+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		m := marked{pid: pid}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if id, ok := bytes.CutPrefix(v, []byte("TREADLE_REQUEST_ID=")); ok {
				m.job = string(id)
			}
		}
		cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		m.cmd = string(bytes.ReplaceAll(cmd, []byte{0}, []byte{' '}))
		out = append(out, m)
	}
	return out
}

// killMarked ends whatever is left of it.
func killMarked(marker string) {
	for _, m := range findMarked(marker) {
		_ = syscall.Kill(m.pid, syscall.SIGKILL)
	}
}

// checkProcesses finds processes of jobs: all requests have ended.
func (s *system) checkProcesses(ctx context.Context, found *torture.Findings) {
	var left []marked
	await(ctx, func() bool {
		left = nil
		for _, m := range findMarked(s.marker) {
			if m.job != "" {
				left = append(left, m)
			}
		}
		return len(left) == 0
	})
	for _, m := range left {
		found.Add("no process is left of a job", "process %d of request %s: %s", m.pid, m.job, m.cmd)
	}
}

// checkLeft finds processes that services left behind.
func (s *system) checkLeft(ctx context.Context, found *torture.Findings) {
	var left []marked
	await(ctx, func() bool {
		left = findMarked(s.marker)
		return len(left) == 0
	})
	for _, m := range left {
		found.Add("no process is left of a service", "process %d: %s", m.pid, m.cmd)
	}
}

// await waits for ok, no longer than orphanGrace.
func await(ctx context.Context, ok func() bool) {
	ctx, cancel := context.WithTimeout(ctx, orphanGrace)
	defer cancel()
	// That it took too long shows in what is left.
	_ = poll.Until(ctx, 100*time.Millisecond, func() (bool, error) { return ok(), nil })
}

// verbCheck runs `treadle check`, if this Treadle has it, and returns what it said.
func (s *system) verbCheck(ctx context.Context, found *torture.Findings) string {
	cmd := exec.CommandContext(ctx, s.o.Program, "check")
	cmd.Env = append(process.CleanEnv(), s.marker, "TREADLE_LEASE="+s.o.lease().String(), "TREADLE_RESUMER_CLAIM_TIMEOUT="+claimTimeout.String())
	cmd.Env = append(cmd.Env, s.db.Env(0, "")...)
	out, err := cmd.CombinedOutput()
	switch exit, ok := errors.AsType[*exec.ExitError](err); {
	case err == nil:
		return "clean"
	case ok && exit.ExitCode() == 2:
		return "there is no treadle check in this version"
	default:
		found.Add("treadle check is clean", "%v\n%s", err, out)
		return "not clean"
	}
}

// checkLogs finds in the logs of services what none may ever say, and counts the errors
// that they may.
func (s *system) checkLogs(found *torture.Findings) map[string]int {
	errs := map[string]int{}
	for _, x := range s.services() {
		found.CheckLog(x.Name, x.logPath(), "job panicked", "a job type panicked")
		log, err := os.ReadFile(x.logPath())
		if err != nil {
			continue // CheckLog has said so
		}
		for l := range strings.Lines(string(log)) {
			if _, rest, ok := strings.Cut(l, "level=ERROR msg="); ok {
				errs[fmt.Sprintf("%s: %s", strings.TrimRight(x.Name, "0123456789"), message(rest))]++
			}
		}
	}
	return errs
}

// message is the text of a line of a log, without what differs from line to line.
func message(rest string) string {
	if m, err := strconv.QuotedPrefix(rest); err == nil {
		return m
	}
	m, _, _ := strings.Cut(rest, " ")
	return m
}
