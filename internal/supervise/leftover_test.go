package supervise

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// escapes are scripts that leave a process which is not in the group of the command
// any more. The process writes a line to $up when it is there, as the last thing.
var escapes = map[string]string{
	"setsid":               `setsid sh -c "$there" >/dev/null 2>&1 &`,
	"setsid that forks":    `setsid -f sh -c "$there" >/dev/null 2>&1`,
	"timeout":              `timeout 600 sh -c "$there" >/dev/null 2>&1 &`,
	"job control":          `set -m; sh -c "$there" >/dev/null 2>&1 &`,
	"twice":                `setsid sh -c 'setsid sh -c "$there" & sleep 600' >/dev/null 2>&1 &`,
	"an orphan in between": `(setsid sh -c '(setsid sh -c "$there" &) ; exit 0' &) >/dev/null 2>&1`,
	"closes its files":     `(exec 9>&- >/dev/null 2>&1; sh -c "$there") &`,
	"ignores SIGTERM":      `setsid sh -c 'trap "" TERM; eval "$there"' >/dev/null 2>&1 &`,
}

// there is what an escaped process does, and up waits for it.
const (
	there = "echo >$up; sleep 600; sleep 600"
	up    = "\nuntil [ -e $up ]; do sleep 0.01; done\n"
)

func escape(t *testing.T, script string) (c *Command, mark string) {
	t.Helper()
	mark = newMark()
	c = command(script, mark)
	c.Lock = mark
	c.Env = append(c.Env, "there="+there, "up="+filepath.Join(t.TempDir(), "up"))
	return c, mark
}

func TestNothingIsLeftOfACommandThatEnded(t *testing.T) {
	t.Parallel()
	s := supervised(t)
	for name, script := range escapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, mark := escape(t, script+up)
			p, err := s.Start(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			out := p.Wait(t.Context(), noGrace)
			if left := marked(mark); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if out.Status.ExitStatus() != 0 || out.Stopped || len(out.Leftovers) == 0 {
				t.Errorf("got %+v, want an end by itself with leftovers", out)
			}
		})
	}
}

func TestNothingIsLeftOfACommandThatIsStopped(t *testing.T) {
	t.Parallel()
	s := supervised(t)
	for name, script := range escapes {
		for _, grace := range []time.Duration{0, 200 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s, grace %s", name, grace), func(t *testing.T) {
				t.Parallel()
				c, mark := escape(t, script+up+"echo up >$up.2; sleep 600")
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				p, err := s.Start(ctx, c)
				if err != nil {
					t.Fatal(err)
				}
				waitFile(t, strings.TrimPrefix(c.Env[len(c.Env)-1], "up=")+".2", 1)
				stop()
				out := p.Wait(ctx, func(error) time.Duration { return grace })
				if left := marked(mark); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				if !out.Stopped || out.Interrupted {
					t.Errorf("got %+v", out)
				}
			})
		}
	}
}

// A program such as sudo closes the files that it does not know, and starts another
// one in a session of its own: what is behind it was not let go.
func TestNothingIsLeftBehindAProgramThatClosesFiles(t *testing.T) {
	t.Parallel()
	s := supervised(t)
	c, mark := escape(t, `sh -c 'exec 9>&-; trap "" TERM; setsid sh -c "$there" & wait; sleep 600' >/dev/null 2>&1 &`+up+"echo up >$up.2; sleep 600")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p, err := s.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	waitFile(t, strings.TrimPrefix(c.Env[len(c.Env)-1], "up=")+".2", 1)
	stop()
	p.Wait(ctx, func(error) time.Duration { return 200 * time.Millisecond })
	if left := marked(mark); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// The documented way to let a program go works every time, also if the script ends at
// once.
func TestAServerThatWasLetGoStays(t *testing.T) {
	t.Parallel()
	s := supervised(t)
	for name, script := range map[string]string{
		"setsid":            `setsid sleep 600 </dev/null >/dev/null 2>&1 9>&- &`,
		"setsid that forks": `setsid -f sleep 600 </dev/null >/dev/null 2>&1 9>&-`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range 30 {
				mark := newMark()
				c := command(script, mark)
				c.Lock = "let-go-" + mark
				p, err := s.Start(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				out := p.Wait(t.Context(), noGrace)
				left := marked(mark)
				for _, pid := range left {
					n, err := strconv.Atoi(pid)
					if err != nil {
						t.Fatal(err)
					}
					_ = syscall.Kill(n, syscall.SIGKILL)
				}
				if len(left) != 1 || len(out.Leftovers) != 0 {
					t.Fatalf("time %d: left are %v, ended were %v", i+1, left, out.Leftovers)
				}
			}
		})
	}
}

// Orphans become children of the supervisor: it must wait for the dead ones.
func TestNoZombiesAreLeft(t *testing.T) {
	t.Parallel()
	s := supervised(t)
	mark := newMark()
	c := command(`i=0; while [ $i -lt 50 ]; do (sleep 0.01 &); i=$((i+1)); done; sleep 0.5; ps -o stat= --ppid $PPID | grep -c Z || true`, mark)
	got, _ := output(t, s, c)
	if n := strings.TrimSpace(got); n != "0" {
		t.Errorf("%s zombies", n)
	}
}
