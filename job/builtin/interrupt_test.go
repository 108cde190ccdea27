package builtin

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/supervise"
	"github.com/treadle-run/treadle/job"
)

// A command whose supervisor was killed ends with it, and its try can be told from
// one that failed.
func TestACommandThatIsInterrupted(t *testing.T) {
	t.Parallel()
	s := supervise.New(slog.New(slog.DiscardHandler))
	s.Lease(time.Now().Add(time.Hour))
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	defer running.Wait()
	defer stop()

	tr := mustCreate(t, "shell", job.Values{"script": `echo started; kill -9 $PPID; sleep 600`})
	if _, err := tr.runUnder(t.Context(), s, nil); !errors.Is(err, job.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
	tr = mustCreate(t, "shell", job.Values{"script": `echo next`})
	if res, err := tr.runUnder(t.Context(), s, nil); err != nil || string(res.Stdout) != "next\n" {
		t.Errorf("after that: %q, %v", res.Stdout, err)
	}
}

// When the lease is lost there is no time for a long grace.
func TestTheGraceIsShortWhenTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	p := process{grace: time.Minute}
	if got := p.graceFor(job.ErrLeaseLost); got != leaseGrace {
		t.Errorf("grace %s, want %s", got, leaseGrace)
	}
	if got := p.graceFor(context.Canceled); got != time.Minute {
		t.Errorf("for another cause: grace %s", got)
	}
	p.grace = 0
	if got := p.graceFor(job.ErrLeaseLost); got != 0 {
		t.Errorf("a grace that is shorter: %s", got)
	}
}

// Without a runner, as in the tests of those who use these job types, commands
// run as well.
func TestACommandWithoutARunner(t *testing.T) {
	t.Parallel()
	tr := mustCreate(t, "shell", job.Values{"script": `sleep 600 & echo $$; exit 3`})
	res, err := tr.runUnder(t.Context(), supervise.Local{}, nil)
	wantError(t, err, "exit code 3")
	wantGroupGone(t, string(res.Stdout[:len(res.Stdout)-1]))
}
