package builtin

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/treadle-run/treadle/internal/supervise"
	"github.com/treadle-run/treadle/job"
)

// short is a machine that is short of something for the first starts.
type short struct {
	supervise.Starter
	of     error
	starts atomic.Int64 // that fail
	failed func(n int64)
}

func (s *short) Start(ctx context.Context, c *supervise.Command) (*supervise.Process, error) {
	if left := s.starts.Add(-1); left >= 0 {
		if s.failed != nil {
			s.failed(left)
		}
		return nil, s.of
	}
	return s.Starter.Start(ctx, c)
}

func TestACommandWaitsWhileTheMachineIsShortOfSomething(t *testing.T) {
	t.Parallel()
	for _, of := range []error{
		os.NewSyscallError("pipe2", syscall.EMFILE), fmt.Errorf("fork/exec: %w", syscall.EAGAIN),
		syscall.ENFILE, syscall.ENOMEM, &os.PathError{Op: "open", Path: "/tmp/x", Err: syscall.ENOSPC},
	} {
		t.Run(of.Error(), func(t *testing.T) {
			t.Parallel()
			tr := mustCreate(t, "shell", job.Values{"script": `echo "try=$TREADLE_TRY" >>"$TREADLE_OUTPUT"`})
			m := &short{Starter: supervisor, of: of}
			m.starts.Store(2)
			m.failed = func(left int64) {
				if status := job.Status(tr.job); left == 0 && !strings.Contains(status, "waits to start: cannot start /bin/sh: ") {
					t.Errorf("its status is %q", status)
				}
			}
			res, err := tr.runUnder(t.Context(), m, nil)
			if err != nil || res.Data["try"] != "1" || m.starts.Load() != -1 {
				t.Errorf("got %v, %v after %d starts", res.Data, err, 2-m.starts.Load())
			}
			if status := job.Status(tr.job); status != "" {
				t.Errorf("afterwards its status is %q", status)
			}
		})
	}
}

func TestACommandThatWaitsForTheMachineCanBeStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	m := &short{Starter: supervisor, of: syscall.EMFILE, failed: func(int64) { stop() }}
	m.starts.Store(1 << 40)
	_, err := mustCreate(t, "command", job.Values{"argv": []any{"true"}}).runUnder(ctx, m, nil)
	wantError(t, err, "stopped: context canceled")
}

func TestOtherErrorsOfAStartAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	m := &short{Starter: supervisor, of: syscall.EACCES}
	m.starts.Store(1 << 40)
	_, err := mustCreate(t, "command", job.Values{"argv": []any{"true"}}).runUnder(t.Context(), m, nil)
	wantError(t, err, "cannot start true: permission denied")
	if n := 1<<40 - m.starts.Load(); n != 1 {
		t.Errorf("it was started %d times", n)
	}
}
