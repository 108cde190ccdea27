package supervise

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// killWait bounds the wait for processes after SIGKILL. Only some that hang in
	// the kernel, or that belong to another user, need more.
	killWait = 2 * time.Second
	// pollGroup is how often a process group that should end is looked at; the
	// system tells nobody when a group has become empty.
	pollGroup = 5 * time.Millisecond
)

// terminate asks a group to end. One that is suspended would not hear it.
func terminate(pgid int) {
	_ = syscall.Kill(-pgid, syscall.SIGTERM)
	_ = syscall.Kill(-pgid, syscall.SIGCONT)
}

// killGroup ends a group that did not end when it was asked to, and waits until
// it has.
func killGroup(pgid int) {
	_ = syscall.Kill(-pgid, syscall.SIGKILL)
	deadline := time.NewTimer(killWait)
	defer deadline.Stop()
	tick := time.NewTicker(pollGroup)
	defer tick.Stop()
	for group := (groupWatch{pgid: pgid}); !group.gone(); {
		select {
		case <-tick.C:
		case <-deadline.C:
			return
		}
	}
}

// groupWatch looks again and again whether a group has gone.
type groupWatch struct {
	pgid    int
	n, scan int
}

// gone reports whether no process of the group lives. To tell dead processes
// that nobody has waited for from others is costly, so it is done ever more
// rarely.
func (g *groupWatch) gone() bool {
	if !groupLives(g.pgid) {
		return true
	}
	if g.n++; g.n < max(g.scan, 4) {
		return false
	}
	g.scan = 2 * g.n
	return onlyZombies(g.pgid)
}

// groupLives reports whether a group has processes, dead ones that nobody has
// waited for included.
func groupLives(pgid int) bool {
	return syscall.Kill(-pgid, 0) != syscall.ESRCH
}

// onlyZombies reports whether all processes of a group are dead and just not
// waited for: whose parent has died is waited for by process 1, and in a
// container that may be a program that does not know of this duty. It is false
// where there is no /proc.
func onlyZombies(pgid int) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is a good one
	zombies := 0
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		// pid (name) state ppid pgrp ...; the name may have any characters.
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(fields) < 3 || fields[2] != strconv.Itoa(pgid) {
			continue
		}
		if fields[0] != "Z" && fields[0] != "X" {
			return false
		}
		zombies++
	}
	return zombies > 0
}
