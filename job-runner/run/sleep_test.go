package run

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// nap is a job.Sleeper; its type says for how long.
type nap struct {
	job.Job
	d time.Duration
}

func (n *nap) Sleep() time.Duration {
	if n.d < 0 {
		panic("cannot sleep")
	}
	return n.d
}

func (n *nap) Status() string { return "zzz" }

// withNaps registers nap types by their names.
func withNaps(ds ...time.Duration) func(*Config) {
	return func(c *Config) {
		for _, d := range ds {
			c.Registry.Register(d.String(), func() job.Job { return &nap{d: d} })
		}
	}
}

// napping makes jobs of a chain sleepers.
func napping(types map[string]time.Duration) func(*proto.JobChain) {
	return func(jc *proto.JobChain) {
		for id, d := range types {
			jc.Jobs[id].Type = d.String()
		}
	}
}

// a (1s) ─┐
// b (3s) ─┼─> d (1s)
// c (2s) ─┘
func TestSleepersWakeInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		h := start(t, rm, nil, withNaps(time.Second, 2*time.Second, 3*time.Second))
		h.start(chainOf(someID, "a>d b>d c>d", napping(map[string]time.Duration{
			"a": time.Second, "b": 3 * time.Second, "c": 2 * time.Second, "d": time.Second,
		})), 1)
		if jobs := h.Running(); len(jobs) != 3 || jobs[0].Status != "zzz" {
			t.Errorf("running: %+v", jobs)
		}
		before := time.Now()
		after(2500 * time.Millisecond)
		h.wantLog(someID, "a1 COMPLETE, c1 COMPLETE")
		after(1500 * time.Millisecond)
		h.wantLog(someID, "a1 COMPLETE, c1 COMPLETE, b1 COMPLETE, d1 COMPLETE")
		h.wantEnd(someID, proto.StateComplete)
		last := rm.log[someID][3]
		if took := time.Unix(0, last.FinishedAt).Sub(before); took != 4*time.Second {
			t.Errorf("the chain took %s, want 4s", took)
		}
	})
}

func TestSleepersEndByTimeoutStopSuspensionAndPanic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		d      time.Duration
		change func(*proto.Job)
		do     func(h *house)
		log    string
		end    proto.State
		after  time.Duration // that the try took
	}{
		{name: "timeout", d: time.Hour, change: func(j *proto.Job) { j.Timeout = proto.Duration(5 * time.Second) },
			log: "a1 FAIL", end: proto.StateFail, after: 5 * time.Second},
		{name: "timeout after its end", d: 5 * time.Second, change: func(j *proto.Job) { j.Timeout = proto.Duration(5*time.Second + 1) },
			log: "a1 COMPLETE", end: proto.StateComplete, after: 5 * time.Second},
		{name: "stop", d: time.Hour, do: func(h *house) { _ = h.Stop(h.t.Context(), someID) },
			log: "a1 STOPPED", end: proto.StateStopped},
		{name: "shutdown", d: time.Hour, do: func(h *house) { h.stop() },
			log: "a1 STOPPED", end: proto.StateSuspended},
		{name: "panic", d: -time.Second, log: "a1 FAIL", end: proto.StateFail},
		{name: "no time at all", d: 0, log: "a1 COMPLETE", end: proto.StateComplete},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rm := newFakeRM()
				h := start(t, rm, nil, withNaps(c.d))
				h.start(chainOf(someID, "a", napping(map[string]time.Duration{"a": c.d}), func(jc *proto.JobChain) {
					if c.change != nil {
						c.change(jc.Jobs["a"])
					}
				}), 1)
				if c.do != nil {
					c.do(h)
				}
				after(10 * time.Second)
				h.wantLog(someID, c.log)
				h.wantEnd(someID, c.end)
				e := rm.log[someID][0]
				if took := time.Duration(e.FinishedAt - e.StartedAt); took != c.after {
					t.Errorf("the try took %s, want %s: %s", took, c.after, fmt.Sprint(e.Error))
				}
			})
		})
	}
}
