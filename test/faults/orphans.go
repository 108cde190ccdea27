package main

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
func (c *checker) checkProcesses(ctx context.Context) {
	var left []marked
	c.await(ctx, func() bool {
		left = nil
		for _, m := range findMarked(c.s.marker) {
			if m.job != "" {
				left = append(left, m)
			}
		}
		return len(left) == 0
	})
	for _, m := range left {
		c.violation("no process is left of a job", nil, "process %d of request %s: %s", m.pid, m.job, m.cmd)
	}
}

// checkLeft finds processes that services left behind.
func (c *checker) checkLeft(ctx context.Context) {
	var left []marked
	c.await(ctx, func() bool {
		left = findMarked(c.s.marker)
		return len(left) == 0
	})
	for _, m := range left {
		c.violation("no process is left of a service", nil, "process %d: %s", m.pid, m.cmd)
	}
}

// await waits for ok, at most orphanGrace.
func (c *checker) await(ctx context.Context, ok func() bool) {
	ctx, cancel := context.WithTimeout(ctx, orphanGrace)
	defer cancel()
	// That it took too long shows in what is left.
	_ = poll(ctx, 100*time.Millisecond, func() (bool, error) { return ok(), nil })
}

// verbCheck runs `treadle check`, if this Treadle has it.
func (c *checker) verbCheck(ctx context.Context) {
	cmd := exec.CommandContext(ctx, c.s.bin, "check")
	cmd.Env = append(os.Environ(), c.s.marker, "TREADLE_LEASE="+c.s.o.lease().String(), "TREADLE_RESUMER_CLAIM_TIMEOUT="+claimTimeout.String(),
		c.s.db.env(""))
	out, err := cmd.CombinedOutput()
	switch exit, ok := errors.AsType[*exec.ExitError](err); {
	case err == nil:
		c.r.Check = "clean"
	case ok && exit.ExitCode() == 2:
		c.r.Check = "there is no treadle check in this version"
	default:
		c.r.Check = "not clean"
		c.violation("treadle check is clean", nil, "%v: %s", err, out)
	}
}

// checkLogs finds in the logs of services what none may ever say.
func (c *checker) checkLogs() {
	for _, x := range append(append([]*service(nil), c.s.rms...), c.s.jrs...) {
		b, err := os.ReadFile(x.logPath())
		if err != nil {
			c.violation("logs", nil, "%v", err)
			continue
		}
		log := string(b)
		for _, mark := range []string{"WARNING: DATA RACE", "\npanic: ", "\nfatal error: ", "job panicked", "a job type panicked"} {
			if i := strings.Index(log, mark); i >= 0 {
				c.violation("services do not break", nil, "%s: %s", x.name, log[i:min(len(log), i+2000)])
			}
		}
		for l := range strings.Lines(log) {
			if _, rest, ok := strings.Cut(l, "level=ERROR msg="); ok {
				c.r.Errors[fmt.Sprintf("%s: %s", strings.TrimRight(x.name, "0123456789"), message(rest))]++
			}
		}
	}
}

// message is the text of a line of a log, without what differs from line to line.
func message(rest string) string {
	if m, err := strconv.QuotedPrefix(rest); err == nil {
		return m
	}
	m, _, _ := strings.Cut(rest, " ")
	return m
}
