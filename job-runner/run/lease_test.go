package run

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

func away(context.Context, proto.Runner) error { return errAway }

func awayForReports(context.Context, proto.Report) error { return errAway }

// The lease runs from when the last heartbeat that was answered was sent: not a
// moment earlier are jobs stopped, and not a moment later.
func TestJobsStopExactlyWhenTheLeaseIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		var stoppedAt atomic.Pointer[time.Time]
		h := start(t, rm, map[string]runFunc{"a": func(ctx context.Context, _ job.Values) (job.Result, error) {
			err := wait.For(ctx, time.Hour)
			now := time.Now()
			stoppedAt.Store(&now)
			return job.Result{}, err
		}})
		h.start(chainOf(someID, "a>b"), 1)
		last := time.Now() // the heartbeat of the start
		rm.set(func(f *fakeRM) { f.beforeHeartbeat, f.beforeReport = away, awayForReports })
		after(someLease - 1)
		if stoppedAt.Load() != nil {
			t.Fatal("a was stopped before the lease was over")
		}
		if err := h.Ready(t.Context()); err != nil {
			t.Fatalf("not ready within the lease: %v", err)
		}
		after(1)
		if at := stoppedAt.Load(); at == nil || at.Sub(last) != someLease {
			t.Fatalf("a was stopped at %v, want exactly after the lease", at)
		}
		errorCode(t, h.Ready(t.Context()), proto.CodeUnavailable)
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 1}, chainOf("r2", "a")), proto.CodeUnavailable)
		h.wantHeld(someID) // it is kept to hand back later

		after(10 * time.Minute)
		h.wantLog(someID, "")
		rm.set(func(f *fakeRM) { f.beforeHeartbeat, f.beforeReport = nil, nil })
		after(5 * time.Second)
		item := h.wantEnd(someID, proto.StateSuspended)
		h.wantLog(someID, "a1 STOPPED")
		if item.Suspended.Entries != 1 || item.Suspended.LatestRunJobTries["a"] != 0 {
			t.Errorf("the lost lease used up a try of a: %+v", item.Suspended)
		}
		h.wantHeld()
		h.start(chainOf("r2", "b"), 2) // and new ones are taken again
	})
}

func TestLostHeartbeatsShorterThanTheLeaseStopNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		h := start(t, rm, map[string]runFunc{"a": takes(10 * time.Minute)})
		h.start(chainOf(someID, "a"), 1)
		for range 5 {
			rm.set(func(f *fakeRM) { f.beforeHeartbeat, f.beforeReport = away, awayForReports })
			after(someLease - 4*time.Second)
			rm.set(func(f *fakeRM) { f.beforeHeartbeat, f.beforeReport = nil, nil })
			after(4 * time.Second)
		}
		after(5 * time.Minute)
		h.wantEnd(someID, proto.StateComplete)
		h.wantLog(someID, "a1 COMPLETE")
	})
}

// Managers tell a lost runner by its heartbeats. If answered reports kept the
// lease, they could take a runner for lost that runs on.
func TestReportsDoNotExtendTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		h := start(t, rm, map[string]runFunc{"a": takes(10 * time.Second), "b": takes(10 * time.Second), "c": takes(10 * time.Minute)})
		h.start(chainOf(someID, "a>b c"), 1)
		rm.set(func(f *fakeRM) { f.beforeHeartbeat = away })
		after(someLease)
		h.wantLog(someID, "a1 COMPLETE, b1 COMPLETE, c1 STOPPED")
		h.wantEnd(someID, proto.StateSuspended)
	})
}

// A heartbeat that takes long to be answered counts from when it was sent.
func TestALateAnswerGivesLessLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		h := start(t, rm, map[string]runFunc{"a": takes(time.Hour)})
		h.start(chainOf(someID, "a"), 1)
		rm.set(func(f *fakeRM) {
			f.beforeHeartbeat = func(ctx context.Context, _ proto.Runner) error {
				return wait.For(context.WithoutCancel(ctx), 9*time.Second)
			}
		})
		after(3 * time.Second) // one is on its way since a second
		rm.set(func(f *fakeRM) { f.beforeHeartbeat = away })
		after(2*time.Second + someLease - 3*time.Second - 1)
		h.wantLog(someID, "")
		after(1)
		h.wantLog(someID, "a1 STOPPED")
	})
}

// A job that does not end when the lease is over is waited for: abandoned, it would
// run beside its next try on another runner.
func TestAJobThatIgnoresTheEndOfTheLeaseIsNotGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		h := start(t, rm, map[string]runFunc{"a": deaf(5 * time.Minute)})
		h.start(chainOf(someID, "a"), 1)
		rm.set(func(f *fakeRM) { f.beforeHeartbeat = away })
		after(someLease + time.Minute)
		h.wantLog(someID, "")
		h.wantHeld(someID)
		after(3 * time.Minute)
		h.wantLog(someID, "a1 STOPPED")
		h.wantEnd(someID, proto.StateSuspended)
	})
}

func TestBeforeTheFirstAnswerNothingIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		rm.beforeHeartbeat = away
		h := start(t, rm, nil)
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 1}, chainOf(someID, "a")), proto.CodeUnavailable)
		errorCode(t, h.Ready(t.Context()), proto.CodeUnavailable)
		rm.set(func(f *fakeRM) { f.beforeHeartbeat = nil })
		after(2 * time.Second)
		if err := h.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.start(chainOf(someID, "a"), 2)
		h.wantEnd(someID, proto.StateComplete)
	})
}

func TestHeartbeatsSayWhatTheRunnerHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		h := start(t, rm, map[string]runFunc{"a": takes(time.Minute)})
		h.start(chainOf("r2", "a"), 5)
		h.start(chainOf("r1", "a"), 1)
		after(2 * time.Second)
		beats := rm.beats()
		last := beats[len(beats)-1]
		if len(beats) != 2 || len(last.Running) != 2 || last.Running[0] != (proto.RunningChain{RequestID: "r1", Epoch: 1}) || last.Draining {
			t.Errorf("%d heartbeats, the last is %+v", len(beats), last)
		}
	})
}

func TestTheAnswerToAHeartbeatIsApplied(t *testing.T) {
	t.Parallel()
	mine := []proto.RunningChain{{RequestID: someID, Epoch: 2}}
	old := []proto.RunningChain{{RequestID: someID, Epoch: 1}}
	for _, c := range []struct {
		name   string
		answer proto.HeartbeatAnswer
		log    string
		ends   proto.State
		held   bool
	}{
		{name: "stop", answer: proto.HeartbeatAnswer{Stop: mine}, log: "a1 STOPPED", ends: proto.StateStopped},
		{name: "drop", answer: proto.HeartbeatAnswer{Drop: mine}, log: ""},
		{name: "drain", answer: proto.HeartbeatAnswer{Drain: true}, log: "a1 STOPPED", ends: proto.StateSuspended},
		{name: "stop of another epoch", answer: proto.HeartbeatAnswer{Stop: old}, held: true},
		{name: "drop of another epoch", answer: proto.HeartbeatAnswer{Drop: old}, held: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rm := newFakeRM()
				h := start(t, rm, map[string]runFunc{"a": takes(time.Hour)})
				h.start(chainOf(someID, "a>b"), 2)
				rm.set(func(f *fakeRM) { f.heartbeatAnswer = func(proto.Runner) proto.HeartbeatAnswer { return c.answer } })
				after(3 * time.Second)
				h.wantLog(someID, c.log)
				if c.ends != proto.StateUnknown {
					h.wantEnd(someID, c.ends)
				}
				if got := len(h.chains.held()) == 1; got != c.held {
					t.Errorf("the runner has the chain: %v, want %v", got, c.held)
				}
			})
		})
	}
}

func TestADrainingRunnerTakesNothingUntilItIsToldTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		var drain atomic.Bool
		rm.heartbeatAnswer = func(proto.Runner) proto.HeartbeatAnswer { return proto.HeartbeatAnswer{Drain: drain.Load()} }
		h := start(t, rm, map[string]runFunc{"a": deaf(time.Minute)})
		h.start(chainOf(someID, "a"), 1)
		drain.Store(true)
		after(30 * time.Second)
		errorCode(t, h.Ready(t.Context()), proto.CodeUnavailable)
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 1}, chainOf("r2", "b")), proto.CodeUnavailable)
		h.wantHeld(someID) // a does not stop, and is not left alone
		if beats := rm.beats(); !beats[len(beats)-1].Draining {
			t.Error("the heartbeat does not say that the runner drains")
		}
		after(30 * time.Second)
		h.wantEnd(someID, proto.StateSuspended)
		h.wantHeld()
		drain.Store(false)
		after(2 * time.Second)
		h.start(chainOf("r2", "b"), 2)
		h.wantEnd("r2", proto.StateComplete)
	})
}

// A manager sends chains as soon as a new runner's heartbeat came, which is before
// the runner has the answer to it.
func TestAChainThatComesBeforeTheFirstLeaseIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		answer := make(chan struct{})
		rm.beforeHeartbeat = func(context.Context, proto.Runner) error { <-answer; return nil }
		h := start(t, rm, nil)
		taken := make(chan error, 1)
		go func() { taken <- h.Start(t.Context(), proto.HandOver{Epoch: 1}, chainOf(someID, "a")) }()
		synctest.Wait()
		select {
		case err := <-taken:
			t.Fatalf("answered before the lease was known: %v", err)
		default:
		}
		close(answer)
		if err := <-taken; err != nil {
			t.Fatal(err)
		}
		h.wantEnd(someID, proto.StateComplete)
	})
}

func TestARunnerThatNoManagerAnswersSaysSoSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		rm.beforeHeartbeat = away
		h := start(t, rm, nil)
		before := time.Now()
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 1}, chainOf(someID, "a")), proto.CodeUnavailable)
		if took := time.Since(before); took > 2*time.Second {
			t.Errorf("it took %s to say so", took)
		}
	})
}

// Managers count what a runner held as lost when its lease is over. So it comes
// back under another ID, and accepts nothing that is meant for the old one.
func TestAfterItsLeaseARunnerIsAnotherOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		h := start(t, rm, map[string]runFunc{"a": deaf(someLease + time.Minute)})
		h.start(chainOf(someID, "a"), 1)
		before := rm.beats()
		id := before[len(before)-1].ID
		rm.set(func(f *fakeRM) { f.beforeHeartbeat = away })
		after(someLease)
		rm.set(func(f *fakeRM) { f.beforeHeartbeat = nil })
		sent := len(rm.beats())
		after(50 * time.Second)
		if n := len(rm.beats()); n != sent {
			t.Fatalf("%d heartbeats while a job of the old lease runs, want none", n-sent)
		}
		after(time.Minute)
		beats := rm.beats()
		if last := beats[len(beats)-1]; last.ID == id || last.ID == "" {
			t.Fatalf("after its lease the runner is %q, and was %q", last.ID, id)
		}
		late := h.Start(t.Context(), proto.HandOver{RunnerID: id, Epoch: 1}, chainOf("r2", "a"))
		errorCode(t, late, proto.CodeNotFound)
		if err := h.Start(t.Context(), proto.HandOver{RunnerID: beats[len(beats)-1].ID, Epoch: 1}, chainOf("r3", "a")); err != nil {
			t.Error(err)
		}
	})
}

// A manager that has given the runner up says so, also if the runner's own clock
// has not noticed the end of the lease, as in a machine that slept.
func TestARunnerThatWasGivenUpStopsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		h := start(t, rm, map[string]runFunc{"a": takes(time.Hour)})
		h.start(chainOf(someID, "a"), 1)
		beats := rm.beats()
		id := beats[0].ID
		rm.set(func(f *fakeRM) {
			f.beforeHeartbeat = func(_ context.Context, r proto.Runner) error {
				if r.ID == id {
					return proto.Errorf(proto.CodeConflict, "declared lost")
				}
				return nil
			}
		})
		after(2 * time.Second)
		h.wantLog(someID, "a1 STOPPED")
		h.wantEnd(someID, proto.StateSuspended)
		after(2 * time.Second)
		if err := h.Ready(t.Context()); err != nil {
			t.Errorf("not ready again: %v", err)
		}
	})
}

// What a manager has told the runner to refuse does not start any more, and what
// the runner has goes on.
func TestWhatMustBeRefusedIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		rm.heartbeatAnswer = func(proto.Runner) proto.HeartbeatAnswer {
			return proto.HeartbeatAnswer{Refuse: []proto.RunningChain{{RequestID: "r1", Epoch: 3}}}
		}
		h := start(t, rm, map[string]runFunc{"a": takes(time.Minute)})
		after(2 * time.Second)
		beats := rm.beats()
		if last := beats[len(beats)-1]; last.Applied == 0 || last.Applied >= last.Beat {
			t.Errorf("heartbeat %d says that the answer to %d was acted on", last.Beat, last.Applied)
		}
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 3}, chainOf("r1", "a")), proto.CodeUnavailable)
		h.start(chainOf("r1", "a"), 4)
		after(10 * time.Second)
		h.wantHeld("r1")
	})
}
