package run

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// A try that was interrupted is none of the job's own: it runs again, unless that
// would do harm.
func TestAnInterruptedTryRunsAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		notIdempotent bool
		log           string
		end           proto.State
	}{
		{"usually", false, "a1 STOPPED, a2 COMPLETE", proto.StateComplete},
		// The manager ends the request: it must not run again, not even as a retry.
		{"not idempotent", true, "a1 STOPPED", proto.StateSuspended},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rm := newFakeRM()
				var tries atomic.Int32
				h := start(t, rm, map[string]runFunc{"a": func(context.Context, job.Values) (job.Result, error) {
					if tries.Add(1) == 1 {
						return job.Result{}, fmt.Errorf("killed: %w", job.ErrInterrupted)
					}
					return job.Result{}, nil
				}})
				jc := chainOf(someID, "a")
				for _, j := range jc.Jobs {
					j.NotIdempotent = c.notIdempotent
					j.Retry = 3
				}
				h.start(jc, 1)
				after(time.Second)
				h.wantEnd(someID, c.end)
				h.wantLog(someID, c.log)
			})
		})
	}
}

// Jobs can tell the end of a lease from other reasons to stop, and hear of it at
// once.
func TestTheEndOfALeaseIsTheCauseThatJobsSee(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		causes := make(chan error, 1)
		var leased atomic.Pointer[time.Time]
		h := start(t, rm, map[string]runFunc{"a": func(ctx context.Context, _ job.Values) (job.Result, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return job.Result{}, context.Cause(ctx)
		}}, func(cfg *Config) { cfg.Leased = func(until time.Time) { leased.Store(&until) } })
		h.start(chainOf(someID, "a"), 1)
		rm.set(func(f *fakeRM) { f.beforeHeartbeat = away })
		if until := leased.Load(); until == nil || time.Until(*until) != someLease {
			t.Errorf("the end of the lease is told as %v", until)
		}
		after(someLease)
		if err := <-causes; !errors.Is(err, job.ErrLeaseLost) {
			t.Errorf("the cause is %v", err)
		}
		h.wantLog(someID, "a1 STOPPED")
	})
}
