package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/treadle-run/treadle/test/poll"
	"github.com/treadle-run/treadle/test/process"
)

// status reads a size of the process's /proc/PID/status, in bytes; 0 if there is
// none.
func status(p *process.Process, field string) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// cpu is the processor time of a process so far.
func cpu(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	const ticks = 100 // of a second; USER_HZ on Linux
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticks
}

// awaitQuiet waits until a process does next to nothing.
func (s *system) awaitQuiet(ctx context.Context, p *process.Process) error {
	last := time.Duration(-1)
	return poll.Until(ctx, 500*time.Millisecond, func() (bool, error) {
		now := cpu(p.PID())
		quiet := last >= 0 && now-last <= 20*time.Millisecond
		last = now
		return quiet, nil
	})
}

// usage is what a system has used so far.
type usage struct {
	rm, jr, db, load time.Duration
	statements       int64
	commits          int64
	syncs            int64
}

func (s *system) usage() usage {
	u := usage{rm: cpu(s.rm.PID()), jr: cpu(s.jr.PID()), load: cpu(os.Getpid())}
	if s.server == nil {
		return u
	}
	u.db = cpu(s.server.PID())
	rows, err := s.db.Query("SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Com_commit', 'Innodb_data_fsyncs')")
	if err != nil {
		return u
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var value int64
		if rows.Scan(&name, &value) != nil {
			return u
		}
		switch name {
		case "Questions":
			u.statements = value
		case "Com_commit":
			u.commits = value
		default:
			u.syncs = value
		}
	}
	if rows.Err() != nil {
		u.statements, u.commits, u.syncs = 0, 0, 0 // not known, rather than half of it
	}
	return u
}

// per says what each of n requests has cost since before.
func (u usage) per(before usage, n int) string {
	each := func(a, b time.Duration) time.Duration {
		return ((a - b) / time.Duration(n)).Round(10 * time.Microsecond)
	}
	count := func(a, b int64) float64 { return float64(a-b) / float64(n) }
	return fmt.Sprintf("CPU rm %s, jr %s, db %s, client %s; %.1f statements, %.2f commits, %.2f fsyncs",
		each(u.rm, before.rm), each(u.jr, before.jr), each(u.db, before.db), each(u.load, before.load),
		count(u.statements, before.statements), count(u.commits, before.commits), count(u.syncs, before.syncs))
}
