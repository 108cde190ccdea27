package supervise

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endHolders kills the processes that have the file of the lock and are none of
// those given: what a command started in a session of its own, and is still
// there when its right to run has ended. Where there is no /proc it does nothing.
func (l *lock) endHolders(spare ...int) {
	if l == nil {
		return
	}
	deadline := time.NewTimer(killWait)
	defer deadline.Stop()
	tick := time.NewTicker(10 * pollGroup)
	defer tick.Stop()
	for {
		pids := l.holders(spare)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return
		}
	}
}

// holders returns the processes that share the open file. One that just opened
// the same file, to wait for the lock, does not.
func (l *lock) holders(spare []int) []int {
	var pids []int
	name := filepath.Base(l.path)
	links, _ := filepath.Glob("/proc/[0-9]*/fd/" + strconv.Itoa(lockFD)) // the pattern is a good one
	for _, link := range links {
		// The name first: to ask for more could hang, if it is a file of a server that
		// is away.
		target, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(filepath.Base(target), name) {
			continue
		}
		dir := filepath.Dir(filepath.Dir(link))
		info, err := os.ReadFile(filepath.Join(dir, "fdinfo", strconv.Itoa(lockFD)))
		if err != nil || !strings.Contains(string(info), "FLOCK") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil && !slices.Contains(spare, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
