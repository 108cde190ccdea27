package run

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// The phases of a chain in which it can be stopped or suspended, and what is in
// the log then. The chain is a -> b.
var phases = []struct {
	name      string
	jobs      map[string]runFunc
	change    func(jc *proto.JobChain)
	hold      bool // reports are not answered before the stop
	at        time.Duration
	stopped   string // the log of a chain that was stopped; suspended is the same
	suspended string
}{
	{name: "while a job runs", jobs: map[string]runFunc{"a": takes(time.Hour)}, at: time.Second, stopped: "a1 STOPPED"},
	{name: "while a job runs that ends well nevertheless", jobs: map[string]runFunc{"a": func(ctx context.Context, _ job.Values) (job.Result, error) {
		<-ctx.Done()
		return job.Result{}, nil
	}}, at: time.Second, stopped: "a1 COMPLETE"},
	{name: "in the wait of a job", jobs: map[string]runFunc{"a": fails}, at: time.Second, stopped: "a1 FAIL",
		change: func(jc *proto.JobChain) {
			jc.Jobs["a"].Retry, jc.Jobs["a"].RetryWait = 1, proto.Duration(time.Hour)
		}},
	{name: "in the wait of a sequence", jobs: map[string]runFunc{"b": fails}, at: time.Second, stopped: "a1 COMPLETE, b1 FAIL",
		change: func(jc *proto.JobChain) {
			jc.Sequences["main"].Retry, jc.Sequences["main"].RetryWait = 1, proto.Duration(time.Hour)
		}},
	{name: "between two jobs", hold: true, at: time.Second, stopped: "a1 COMPLETE"},
	{name: "while a job ignores it", jobs: map[string]runFunc{"a": deaf(time.Hour)}, at: time.Second, stopped: "a1 STOPPED"},
}

func fails(context.Context, job.Values) (job.Result, error) { return job.Result{}, errors.New("no") }

func TestStopInEveryPhase(t *testing.T) {
	t.Parallel()
	for _, p := range phases {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rm := newFakeRM()
				answer := make(chan struct{})
				if p.hold {
					rm.beforeReport = func(context.Context, proto.Report) error { <-answer; return nil }
				}
				h := start(t, rm, p.jobs)
				h.start(chainOf(someID, "a>b", changes(p.change)...), 1)
				after(p.at)
				if err := h.Stop(t.Context(), someID); err != nil {
					t.Fatal(err)
				}
				if err := h.Stop(t.Context(), someID); err != nil { // twice is harmless
					t.Fatal(err)
				}
				synctest.Wait()
				close(answer)
				after(15 * time.Second) // the time to stop
				item := h.wantEnd(someID, proto.StateStopped)
				h.wantLog(someID, p.stopped)
				if item.Reason != "stopped by request" {
					t.Errorf("reason %q", item.Reason)
				}
				h.wantHeld()
			})
		})
	}
}

// A runner that ends hands its chains back; another goes on with each of them.
func TestShutdownSuspendsInEveryPhaseAndAnotherRunnerGoesOn(t *testing.T) {
	t.Parallel()
	for _, p := range phases {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rm := newFakeRM()
				answer := make(chan struct{})
				if p.hold {
					rm.beforeReport = func(context.Context, proto.Report) error { <-answer; return nil }
				}
				h := start(t, rm, p.jobs)
				h.start(chainOf(someID, "a>b", changes(p.change)...), 1)
				after(p.at)
				h.stop()
				synctest.Wait()
				errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 1}, chainOf("r2", "a")), proto.CodeUnavailable)
				close(answer)
				err := <-h.over
				h.over <- nil
				if err != nil {
					t.Fatalf("run: %v", err)
				}
				item := h.wantEnd(someID, proto.StateSuspended)
				h.wantLog(someID, p.stopped)
				if beats := rm.beats(); !beats[len(beats)-1].Draining {
					t.Error("the last heartbeat does not say that the runner ends")
				}

				other := start(t, rm, nil)
				if err := other.Resume(t.Context(), proto.HandOver{Epoch: 2}, item.Suspended); err != nil {
					t.Fatal(err)
				}
				after(2 * time.Hour) // waits go on where they were
				other.wantEnd(someID, proto.StateComplete)
				for _, job := range []string{"a", "b"} {
					want := 1
					if strings.Contains(p.name, "sequence") && job == "a" {
						want = 2 // once in each run of the sequence
					}
					complete := 0
					for _, e := range rm.log[someID] {
						if e.JobID == job && e.State == proto.StateComplete {
							complete++
						}
					}
					if complete != want {
						t.Errorf("%s completed %d times: %s", job, complete, rm.states(someID))
					}
				}
			})
		})
	}
}

func changes(c func(jc *proto.JobChain)) []func(jc *proto.JobChain) {
	if c == nil {
		return nil
	}
	return []func(jc *proto.JobChain){c}
}

// The stop overtakes the chain on its way here.
func TestStopBeforeStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Bool
		h := start(t, newFakeRM(), map[string]runFunc{"a": func(context.Context, job.Values) (job.Result, error) {
			ran.Store(true)
			return job.Result{}, nil
		}})
		errorCode(t, h.Stop(t.Context(), someID), proto.CodeNotFound)
		h.start(chainOf(someID, "a>b"), 1)
		after(time.Second)
		h.wantEnd(someID, proto.StateStopped)
		if got := h.rm.states(someID); strings.Contains(got, "b") {
			t.Errorf("b ran although the chain was stopped before it came: %s", got)
		}
	})
}

func TestAStopCountsMoreThanASuspension(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		rm.heartbeatAnswer = func(proto.Runner) proto.HeartbeatAnswer { return proto.HeartbeatAnswer{Drain: true} }
		h := start(t, newFakeRM(), map[string]runFunc{"a": deaf(10 * time.Second)})
		h.start(chainOf(someID, "a>b"), 1)
		h.rm.set(func(f *fakeRM) { f.heartbeatAnswer = rm.heartbeatAnswer })
		after(3 * time.Second) // a is told to stop, and still runs
		if err := h.Stop(t.Context(), someID); err != nil {
			t.Fatal(err)
		}
		after(10 * time.Second)
		h.wantEnd(someID, proto.StateStopped)
	})
}

// A job that was abandoned ends later: nobody is interested.
func TestAJobThatIgnoresAStopIsGivenUpExactlyAfterTheStopTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := start(t, newFakeRM(), map[string]runFunc{"a": deaf(time.Minute), "b": takes(time.Hour)},
			func(c *Config) { c.StopTimeout = 20 * time.Second })
		h.start(chainOf(someID, "a b"), 1)
		if err := h.Stop(t.Context(), someID); err != nil {
			t.Fatal(err)
		}
		after(20*time.Second - 1)
		h.wantLog(someID, "b1 STOPPED")
		after(1)
		h.wantEnd(someID, proto.StateStopped)
		h.wantLog(someID, "b1 STOPPED, a1 STOPPED")
		if e := h.rm.log[someID][1]; e.Error != "did not stop within 20s; abandoned" {
			t.Errorf("entry %+v", e)
		}
		after(time.Hour)
		h.wantLog(someID, "b1 STOPPED, a1 STOPPED")
	})
}

// While a job that ignores its stop runs, its next try must not come here and run beside
// it, in whichever request and under whichever epoch that is.
func TestAJobThatIgnoresItsStopKeepsTheRunnerFromAcceptingChains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		h := start(t, rm, map[string]runFunc{"a": deaf(5 * time.Minute)})
		h.start(chainOf(someID, "a"), 1)
		h.start(chainOf("other", "x>y", func(jc *proto.JobChain) {
			jc.Jobs["y"].Retry = 1
		}), 1)
		// The request was handed over again: what is here is dropped.
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 2}, chainOf(someID, "a")), proto.CodeUnavailable)
		after(time.Minute)
		h.wantEnd("other", proto.StateComplete)
		h.wantHeld()
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 3}, chainOf(someID, "a")), proto.CodeUnavailable)
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 1}, chainOf("new", "b")), proto.CodeUnavailable)
		errorCode(t, h.Ready(t.Context()), proto.CodeUnavailable)
		if beats := rm.beats(); !beats[len(beats)-1].Draining {
			t.Error("the request managers are not told")
		}
		if _, jobs := h.chains.load(); jobs != 1 {
			t.Errorf("%d jobs run, want 1", jobs)
		}
		if running := h.Running(); len(running) != 1 || running[0].RequestID != someID || !strings.HasPrefix(running[0].Status, "was told to stop and still runs; busy") {
			t.Errorf("running: %+v", running)
		}
		after(4 * time.Minute)
		if err := h.Ready(t.Context()); err != nil || len(h.Running()) != 0 {
			t.Errorf("after its end: %v, %+v", err, h.Running())
		}
		h.start(chainOf(someID, "b"), 4)
		h.wantEnd(someID, proto.StateComplete)
	})
}

// A job that never ends is ended with the runner, which hands back what else it has.
func TestTheRunnerEndsItselfIfAJobIgnoresItsStopForTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := start(t, newFakeRM(), map[string]runFunc{"a": deaf(2 * time.Hour), "b": takes(time.Hour)},
			func(c *Config) { c.AbandonLimit = 5 * time.Minute })
		h.start(chainOf(someID, "a"), 1)
		h.start(chainOf("other", "b"), 1)
		if err := h.Stop(t.Context(), someID); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		err := <-h.over
		h.over <- nil
		if d := time.Since(before); d != 5*time.Minute+15*time.Second {
			t.Errorf("it ended after %s", d)
		}
		if err == nil || !strings.Contains(err.Error(), "job a (a, type scripted) of request "+someID+" has ignored for 5m0s that it was told to stop") {
			t.Errorf("the error does not say why: %v", err)
		}
		h.wantEnd("other", proto.StateSuspended)
	})
}

// patientJob needs a minute to end, and says so.
type patientJob struct{}

func (*patientJob) Grace() time.Duration { return time.Minute }

func (*patientJob) Run(ctx context.Context, _ job.Values) (job.Result, error) {
	<-ctx.Done()
	_ = wait.For(context.WithoutCancel(ctx), time.Minute)
	return job.Result{}, ctx.Err()
}

func withPatientJobs(c *Config) {
	c.Registry.Register("patient", func() job.Job { return &patientJob{} })
}

// A stop gives a job the time that it asks for; a shutdown has none, also if it comes
// upon a stop.
func TestAJobGetsTheGraceThatItAsksFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		shut bool
		want time.Duration
	}{{"stop", false, time.Minute}, {"a shutdown during the stop", true, 15 * time.Second}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := start(t, newFakeRM(), nil, withPatientJobs)
				h.start(chainOf(someID, "a", func(jc *proto.JobChain) { jc.Jobs["a"].Type = "patient" }), 1)
				if err := h.Stop(t.Context(), someID); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if c.shut {
					h.stop()
				}
				after(c.want - 1)
				h.wantLog(someID, "")
				after(1)
				h.wantEnd(someID, proto.StateStopped)
			})
		})
	}
}

// A lease that is lost has patience with jobs, but not for ever: with one that ignores
// it, the runner would never be ready again.
func TestTheRunnerEndsItselfIfAJobIgnoresTheEndOfTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		h := start(t, rm, map[string]runFunc{"a": deaf(2 * time.Hour)})
		h.start(chainOf(someID, "a"), 1)
		rm.set(func(f *fakeRM) { f.beforeHeartbeat = away })
		before := time.Now()
		err := <-h.over
		h.over <- nil
		if d := time.Since(before); err == nil || d < someLease+10*time.Minute || d > someLease+12*time.Minute {
			t.Errorf("it ended after %s with %v", d, err)
		}
	})
}

func TestShutdownEndsByItsDeadlineIfNothingCanBeHandedIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		h := start(t, rm, map[string]runFunc{"a": takes(time.Hour)}, func(c *Config) { c.ShutdownTimeout = 40 * time.Second })
		h.start(chainOf(someID, "a"), 1)
		rm.set(func(f *fakeRM) { f.beforeReport = awayForReports })
		before := time.Now()
		h.stop()
		err := <-h.over
		h.over <- nil
		if d := time.Since(before); d != 40*time.Second {
			t.Errorf("the end took %s", d)
		}
		if err == nil || !strings.Contains(err.Error(), someID) || !strings.Contains(err.Error(), "recovered") {
			t.Errorf("the error does not say what was not handed back: %v", err)
		}
	})
}

func TestShutdownWithNothingToHandInIsQuick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := start(t, newFakeRM(), nil)
		before := time.Now()
		h.stop()
		if err := <-h.over; err != nil || time.Since(before) != 0 {
			t.Errorf("%v after %s", err, time.Since(before))
		}
		h.over <- nil
	})
}

// A drain waits for jobs; a shutdown that comes upon it does not.
func TestAShutdownHurriesADrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		rm.heartbeatAnswer = func(r proto.Runner) proto.HeartbeatAnswer {
			return proto.HeartbeatAnswer{Drain: len(r.Running) > 0}
		}
		h := start(t, rm, map[string]runFunc{"a": deaf(time.Hour)})
		h.start(chainOf(someID, "a"), 1)
		after(time.Minute)
		h.wantHeld(someID)
		before := time.Now()
		h.stop()
		if err := <-h.over; err != nil || time.Since(before) != 15*time.Second {
			t.Errorf("%v after %s, want nothing after the stop timeout", err, time.Since(before))
		}
		h.over <- nil
		h.wantEnd(someID, proto.StateSuspended)
	})
}
