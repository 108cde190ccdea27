package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// becomeReaper makes this process the parent of all that its commands leave behind:
// whatever leaves the group and the session of its command is found by that.
func becomeReaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// reap waits for the children that have died and that are none of those given.
func reap(spare func(pid int) bool) {
	for _, pid := range childrenOf(os.Getpid()) {
		if !spare(pid) {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // one that lives is left alone
		}
	}
}

// childrenOf returns the children of a process, dead ones that it has not waited for
// included. It returns none where the system does not tell.
func childrenOf(pid int) []int {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is a good one
	var pids []int
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has just ended
		}
		for _, field := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// stat is what the system says of a process.
type stat struct {
	name    string
	dead    bool // and not waited for
	session int
	start   string // when it started: with its id, that names it for good
}

func statOf(pid int) (s stat, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, false
	}
	// pid (name) state ppid pgrp session ... starttime is the 22nd; the name may have any
	// characters.
	text := string(b)
	open, shut := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return s, false
	}
	fields := strings.Fields(text[shut+1:])
	if len(fields) < 20 {
		return s, false
	}
	s.session, err = strconv.Atoi(fields[3])
	s.name, s.dead, s.start = text[open+1:shut], fields[0] == "Z" || fields[0] == "X", fields[19]
	return s, err == nil
}

// holds reports whether a process has the file of the lock as a command gets it.
func (l *lock) holds(pid int) bool {
	if l == nil {
		return false
	}
	target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, lockFD))
	return err == nil && strings.TrimSuffix(target, " (deleted)") == l.path
}

// living returns the processes of the command that live, but for the command itself
// and what it let go. Of those that it was told to end, it lets none go any more.
func (c *child) living() []member {
	f := family{c: c}
	f.below(c.pgid, true)
	if c.reaper != 0 {
		for _, pid := range childrenOf(c.reaper) {
			if pid != c.pgid && !c.isCommand(pid) {
				f.add(pid, true)
			}
		}
	}
	return f.members
}

// family gathers the processes of a command.
type family struct {
	c       *child
	members []member
}

// below adds what a process has started. Holds says whether that process has the
// file of the lock.
func (f *family) below(pid int, holds bool) {
	for _, child := range childrenOf(pid) {
		f.add(child, holds)
	}
}

// add adds a process and what it has started, unless it is none of the command or was
// let go. Of an orphan, whose parent is the reaper, it is not known who started it.
func (f *family) add(pid int, parentHolds bool) {
	s, ok := statOf(pid)
	if !ok || s.dead {
		return
	}
	holds, inSession := f.c.lock.holds(pid), s.session == f.c.pgid
	known := f.c.known[pid] == s.start
	if !holds && !inSession && !known {
		// Who closes the file and leaves the session by itself was let go. It was not, if
		// a program closed the file that is still there to answer for it, as sudo does.
		if parentHolds || f.c.lock == nil {
			return
		}
	}
	f.members = append(f.members, member{pid: pid, name: s.name, start: s.start, holds: holds})
	f.below(pid, holds)
}
