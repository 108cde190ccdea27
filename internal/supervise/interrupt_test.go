package supervise

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
)

// families are commands with all kinds of processes. Each says in a file
// that all of them are there.
var families = []struct{ name, script string }{
	{"alone", `echo up >%[1]s; exec sleep 600`},
	{"a child in the background", `sleep 600 & sleep 600 & echo up >%[1]s; wait`},
	{"ignores SIGTERM", `trap '' TERM; sleep 600 & echo up >%[1]s; sleep 600; sleep 600`},
	{"is suspended", `sleep 600 & echo up >%[1]s; kill -STOP $$`},
	{"in another session", `setsid sleep 600 & setsid sh -c 'trap "" TERM; echo up >%[1]s; sleep 600; sleep 600' & wait`},
	{"orphans in another session", `setsid sh -c 'sleep 600 & echo up >%[1]s; sleep 600' & setsid sleep 600 & exec sleep 600`},
}

func TestNothingOutlivesARunnerThatIsKilled(t *testing.T) {
	t.Parallel()
	for _, tt := range families {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mark, up := newMark(), filepath.Join(t.TempDir(), "up")
			r := startRunner(t, time.Hour)
			r.say("run %s %s %s", mark, mark, fmt.Sprintf(tt.script, up))
			r.hear("started")
			waitFile(t, up, 1)
			if len(marked(mark)) == 0 {
				t.Fatal("the processes do not have the mark")
			}
			r.kill()
			wantGone(t, mark, soon())
		})
	}
}

func TestNothingOutlivesTheLeaseOfARunnerThatIsFrozen(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	// Long enough for all processes to be there when it ends.
	const lease = 5 * time.Second
	for _, tt := range families {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mark, up := newMark(), filepath.Join(t.TempDir(), "up")
			r := startRunner(t, lease)
			r.say("run %s %s %s", mark, mark, fmt.Sprintf(tt.script, up))
			r.hear("started")
			waitFile(t, up, 1)
			r.signal(syscall.SIGSTOP)
			wantGone(t, mark, lease+soon())

			r.signal(syscall.SIGCONT)
			if said := r.hear("ended"); !strings.HasPrefix(said, "true") {
				t.Errorf("the runner learned %q, want that it was interrupted", said)
			}
			// It goes on when it has a lease again.
			r.say("run %s %s exit 3", mark, mark)
			r.say("lease %d", time.Hour.Milliseconds())
			r.hear("started")
			if said := r.hear("ended"); said != "false 3" {
				t.Errorf("after that the runner learned %q", said)
			}
		})
	}
}

// A command that had ended before the lease did counts as what it was, also if
// its runner learns it late.
func TestAFrozenRunnerLearnsWhatEndedInTime(t *testing.T) {
	t.Parallel()
	mark, open := newMark(), filepath.Join(t.TempDir(), "open")
	r := startRunner(t, time.Hour)
	r.say("run %s %s until [ -e %s ]; do sleep 0.01; done; exit 5", mark, mark, open)
	r.hear("started")
	r.signal(syscall.SIGSTOP)
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantGone(t, mark, 30*time.Second)
	r.signal(syscall.SIGCONT)
	if said := r.hear("ended"); said != "false 5" {
		t.Errorf("the runner learned %q", said)
	}
}

// Runners are killed at any moment between and within starts.
func TestNoMomentToBeKilledAtLeavesAnything(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	mark := newMark()
	for range 50 {
		r := startRunner(t, time.Hour)
		r.say("run %s %s true", newMark(), mark) // a supervisor is there
		r.hear("started")
		r.hear("ended")
		for range 4 {
			r.say("run loop %s sleep 600 & sleep 0.0$(($$ %% 5))", mark)
		}
		moment := time.NewTimer(time.Duration(rand.IntN(100)) * time.Millisecond)
		<-moment.C
		r.kill()
	}
	wantGone(t, mark, soon())
}

func TestASupervisorThatIsKilledIsReplaced(t *testing.T) {
	t.Parallel()
	for _, tt := range families[:4] {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mark, up := newMark(), filepath.Join(t.TempDir(), "up")
			s := supervised(t)
			p, err := s.Start(t.Context(), command(fmt.Sprintf(tt.script, up), mark))
			if err != nil {
				t.Fatal(err)
			}
			waitFile(t, up, 1)
			if err := processOf(s).Kill(); err != nil {
				t.Fatal(err)
			}
			if out := p.Wait(t.Context(), noGrace); !out.Interrupted || !out.Stopped {
				t.Errorf("got %+v, want that it was interrupted", out)
			}
			wantGone(t, mark, soon())
			if _, out := output(t, s, command("exit 3", mark)); out.Status.ExitStatus() != 3 || out.Interrupted {
				t.Errorf("after that: %+v", out)
			}
		})
	}
}

// A command may kill the supervisor before that could tell its runner which process
// it had started.
func TestASupervisorThatIsKilledAtOnceLeavesNothing(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	s := supervised(t)
	for range 5 { // each costs a supervisor
		mark := newMark()
		c := command("sleep 600 & kill -9 $PPID; sleep 600", mark)
		c.Lock = mark
		p, err := s.Start(t.Context(), c)
		if err == nil {
			p.Wait(t.Context(), noGrace)
		} else if !errors.Is(err, ErrInterrupted) {
			t.Fatal(err)
		}
		wantGone(t, mark, soon())
	}
}

// One that is frozen does nothing for its runner: it is killed, with its
// commands, and replaced.
func TestASupervisorThatIsFrozenIsReplaced(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	s := New(slog.New(slog.DiscardHandler))
	s.pings = 100 * time.Millisecond
	runSupervisor(t, s)
	mark, up := newMark(), filepath.Join(t.TempDir(), "up")
	p, err := s.Start(t.Context(), command("sleep 600 & echo up >"+up+"; wait", mark))
	if err != nil {
		t.Fatal(err)
	}
	waitFile(t, up, 1)
	if err := processOf(s).Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if out := p.Wait(t.Context(), noGrace); !out.Interrupted {
		t.Errorf("got %+v, want that it was interrupted", out)
	}
	wantGone(t, mark, soon())
	if _, out := output(t, s, command("exit 3", mark)); out.Status.ExitStatus() != 3 {
		t.Errorf("after that: %+v", out)
	}
}

func TestSignalsForTheRunnerDoNotEndItsSupervisor(t *testing.T) {
	t.Parallel()
	s := supervised(t)
	release := filepath.Join(t.TempDir(), "release")
	p, err := s.Start(t.Context(), command("until [ -e "+release+" ]; do sleep 0.01; done; exit 4", newMark()))
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if err := processOf(s).Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := p.Wait(t.Context(), noGrace); out.Status.ExitStatus() != 4 || out.Stopped {
		t.Errorf("got %+v", out)
	}
}
