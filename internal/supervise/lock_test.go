package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A command waits for all that an earlier one of its lock left, in whichever
// runner that was.
func TestACommandStartsWhenItsPredecessorIsGone(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script string }{
		{"takes its time", `trap 'sleep 0.5; echo first-ends >>%[1]s; exit' TERM; echo first >>%[1]s; while :; do sleep 0.05; done`},
		{"a child takes its time", `sh -c "trap 'sleep 0.5; echo first-ends >>%[1]s; exit' TERM; echo first >>%[1]s; while :; do sleep 0.05; done" & wait`},
		{"closes its files", `exec 9<&-; trap 'sleep 0.5; echo first-ends >>%[1]s; exit' TERM; echo first >>%[1]s; while :; do sleep 0.05; done`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lock, log := newMark(), filepath.Join(t.TempDir(), "log")
			first, second := startRunner(t, time.Hour), startRunner(t, time.Hour)
			first.say("run %s %s %s", lock, lock, fmt.Sprintf(tt.script, log))
			first.hear("started")
			waitFile(t, log, 1)
			first.kill()
			second.say("run %s %s echo second >>%s", lock, lock, log)
			second.hear("started")
			if said := second.hear("ended"); said != "false 0" {
				t.Errorf("the second ended %s", said)
			}
			if got := strings.Join(waitFile(t, log, 3), " "); got != "first first-ends second" {
				t.Errorf("got %q", got)
			}
			if _, err := os.Stat(lockPath(t, lock)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file of the lock is left: %v", err)
			}
		})
	}
}

// Who waits for the lock is not taken for one who has it.
func TestARunnerThatWaitsForALockIsSpared(t *testing.T) {
	t.Parallel()
	lock, log := newMark(), filepath.Join(t.TempDir(), "log")
	first, second := startRunner(t, time.Hour), startRunner(t, time.Hour)
	first.say("run %s %s setsid sh -c 'trap \"\" TERM; echo first >>%s; sleep 600; sleep 600' & wait", lock, lock, log)
	first.hear("started")
	waitFile(t, log, 1)
	second.say("run %s %s echo second >>%s", lock, lock, log)
	first.kill()
	second.hear("started")
	second.hear("ended")
	if got := strings.Join(waitFile(t, log, 2), " "); got != "first second" {
		t.Errorf("got %q", got)
	}
}

// What a command left behind on purpose, when it ended by itself or was told to
// by its runner, keeps nobody waiting.
func TestWhatStaysOnPurposeHoldsNoLock(t *testing.T) {
	t.Parallel()
	s := supervised(t)
	mark, up := newMark(), filepath.Join(t.TempDir(), "up")
	c := command(`setsid sh -c 'echo up >`+up+`; exec sleep 600' >/dev/null 2>&1 </dev/null 9>&- & until [ -e `+up+` ]; do sleep 0.01; done`, mark)
	c.Lock = mark
	output(t, s, c)
	left := marked(mark)
	if len(left) != 1 {
		t.Fatalf("%d processes are left, want 1", len(left))
	}
	ctx, cancel := context.WithTimeout(t.Context(), lockWait/2)
	defer cancel()
	again := command("kill -9 "+left[0], newMark())
	again.Lock = mark
	p, err := s.Start(ctx, again)
	if err != nil {
		t.Fatalf("the next one waits: %v", err)
	}
	p.Wait(ctx, noGrace)
}

func TestTheWaitForALockEndsWithItsContext(t *testing.T) {
	t.Parallel()
	l, err := newLocks(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	name := newMark()
	held, err := l.acquire(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	reason := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := l.acquire(ctx, name); !errors.Is(err, reason) {
		t.Errorf("while it is held: %v", err)
	}
	held.release()
	if again, err := l.acquire(ctx, name); err != nil {
		t.Errorf("when it is free: %v", err)
	} else {
		again.release()
	}
}

func TestASweepTakesWhatNobodyHas(t *testing.T) {
	t.Parallel()
	l := &locks{dir: t.TempDir(), log: slog.New(slog.DiscardHandler)}
	held, err := l.acquire(t.Context(), "held")
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	left, err := l.acquire(t.Context(), "left")
	if err != nil {
		t.Fatal(err)
	}
	left.close() // as by the death of all who had it
	l.sweep()
	if files, err := os.ReadDir(l.dir); err != nil || len(files) != 1 || files[0].Name() != "held.lock" {
		t.Errorf("after the sweep: %v, %v", files, err)
	}
}

// Another user cannot keep a runner from starting commands by taking the name of its
// directory first.
func TestADirectoryThatSomebodyElseTookFirst(t *testing.T) {
	t.Parallel()
	const stranger = 65534
	for name, take := range map[string]func(path string) error{
		"a file":                          func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link to a directory":           func(path string) error { return os.Symlink(filepath.Dir(path), path) },
		"a link to nowhere":               func(path string) error { return os.Symlink(path+"-nowhere", path) },
		"a directory that others can use": func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o777)) },
		"a directory of another user": func(path string) error {
			if os.Getuid() != 0 { // only root can make one: for others it is of root
				return os.Symlink("/", path)
			}
			return errors.Join(os.Mkdir(path, 0o700), os.Chown(path, stranger, stranger))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmp, state := t.TempDir(), t.TempDir()
			if err := take(filepath.Join(tmp, fmt.Sprintf("treadle-%d", os.Getuid()))); err != nil {
				t.Fatal(err)
			}
			r := startRunnerAs(t, "1", time.Hour, "TMPDIR="+tmp, "XDG_STATE_HOME="+state)
			r.say("run %s %s exit 3", "some-lock", newMark())
			r.hear("started")
			if said := r.hear("ended"); said != "false 3" {
				t.Errorf("the command ended with %q", said)
			}
			// Two runners of a user still share their locks.
			locks, err := filepath.Glob(filepath.Join(state, "treadle", "locks-*"))
			if err != nil || len(locks) != 1 {
				t.Fatalf("directories for locks in the state directory: %v, %v", locks, err)
			}
			if info, err := os.Stat(locks[0]); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("others can use it: %v, %v", info, err)
			}
		})
	}
}

func TestWithoutAPrivateDirectoryNothingStarts(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	taken := filepath.Join(tmp, fmt.Sprintf("treadle-%d", os.Getuid()))
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := startRunnerAs(t, "seated", time.Hour, "TMPDIR="+tmp, "XDG_STATE_HOME="+taken)
	r.say("succeed somewhere")
	if said := r.hear("failed"); !strings.Contains(said, taken) {
		t.Errorf("the reason is %q", said)
	}
}

func lockPath(t *testing.T, name string) string {
	t.Helper()
	l, err := newLocks(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(l.dir, name+".lock")
}
