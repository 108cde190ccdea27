package request

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// suspended makes n requests of which first is COMPLETE, and that a runner, which
// is no more, has handed back.
func (w *world) suspended(m *Manager, n int) []string {
	w.t.Helper()
	jr := w.runner(m, "jr-0", "http://jr-0")
	var ids []string
	for range n {
		ids = append(ids, w.create(m, "deploy"))
	}
	after(time.Second)
	jr.kill()
	jr.self.Draining = true
	jr.beat()
	for _, id := range ids {
		jr.report(id, proto.StateUnknown, w.entry(id, "first", 0))
		c, _, err := replay(w.t.Context(), w.store, id)
		must(w.t, err)
		delete(jr.has, id)
		must(w.t, m.SuspendReport(w.t.Context(), 1, c.Suspended()))
	}
	must(w.t, w.store.RemoveRunner(w.t.Context(), "jr-0"))
	must(w.t, m.fleet.refresh(w.t.Context()))
	for _, id := range ids {
		w.want(id, proto.StateSuspended)
	}
	w.mu.Lock()
	w.sent = nil
	w.mu.Unlock()
	return ids
}

func TestASuspendedRequestGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		id := w.suspended(m, 1)[0]
		after(time.Minute)
		w.want(id, proto.StateSuspended)
		w.runner(m, "jr-1", "http://jr-1")
		after(100 * time.Millisecond) // at once, not at the next round
		r := w.want(id, proto.StateRunning)
		if r.JobRunnerURL != "http://jr-1" || r.Epoch != 2 || r.FinishedJobs != 1 {
			w.t.Errorf("request %+v", r)
		}
		w.wantSent(id, "resume at http://jr-1 epoch 2")
		var sjc proto.SuspendedJobChain
		must(w.t, json.Unmarshal(w.sendings(id)[0].body, &sjc))
		if sjc.Entries != 1 || sjc.JobChain.FinishedJobs != 1 || sjc.RequestID != id {
			w.t.Errorf("sent %+v", sjc)
		}
	})
}

func TestARefusedResumeIsSuspendedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		id := w.suspended(m, 1)[0]
		w.answers(func(context.Context, sending) error { return errFull })
		w.runner(m, "jr-1", "http://jr-1")
		after(time.Minute)
		if r := w.want(id, proto.StateSuspended); !strings.Contains(r.Reason, "this runner is full") {
			w.t.Errorf("reason %q", r.Reason)
		}
		last := w.sendings(id)[len(w.sendings(id))-1]
		if n := len(w.sendings(id)); n < 5 || n > 40 || last.epoch != uint64(n+1) {
			w.t.Errorf("%d tries in a minute, the last %v", n, last)
		}
		w.answers(nil)
		after(5 * time.Second)
		w.want(id, proto.StateRunning)
	})
}

func TestRefusedResumesDoNotProlongTheTTL(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager(func(cfg *Config) { cfg.SuspendTTL = time.Minute })
		w.run(m)
		id := w.suspended(m, 1)[0]
		w.answers(func(context.Context, sending) error { return errFull })
		w.runner(m, "jr-1", "http://jr-1")
		after(55 * time.Second)
		w.want(id, proto.StateSuspended)
		after(10 * time.Second)
		w.want(id, proto.StateFail)
	})
}

func TestASuspendedChainThatNoRunnerCanTakeFails(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		id := w.suspended(m, 1)[0]
		w.answers(func(context.Context, sending) error { return proto.Errorf(proto.CodeInvalid, "no job chain") })
		w.runner(m, "jr-1", "http://jr-1")
		after(time.Second)
		if r := w.want(id, proto.StateFail); !strings.Contains(r.Reason, "no job chain") || r.FinishedJobs != 1 {
			w.t.Errorf("request %+v", r)
		}
	})
}

func TestTwoManagersResumeEachRequestOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m1, m2 := w.manager(), w.manager(func(c *Config) { c.ManagerID = "rm-2" })
		stop := w.run(m1)
		ids := w.suspended(m1, 40)
		stop()
		m1 = w.manager()
		w.run(m1)
		w.run(m2)
		w.runner(m1, "jr-1", "http://jr-1")
		w.runner(m2, "jr-2", "http://jr-2")
		after(10 * time.Second)
		for _, id := range ids {
			w.want(id, proto.StateRunning)
			if s := w.sendings(id); len(s) != 1 || s[0].epoch != 2 {
				w.t.Errorf("sent: %v", s)
			}
		}
	})
}

// A resume that a runner hangs on does not keep the rest from being cleaned up.
func TestCleanUpDoesNotWaitForRunners(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager(func(c *Config) { c.SuspendTTL = 20 * time.Second })
		w.run(m)
		ids := w.suspended(m, 30)
		w.answers(func(ctx context.Context, _ sending) error { return hang(ctx) })
		w.runner(m, "jr-1", "http://jr-1")
		after(30 * time.Second)
		failed := 0
		for _, id := range ids {
			r, err := w.store.Request(w.t.Context(), id)
			must(w.t, err)
			if r.State == proto.StateFail {
				failed++
			}
		}
		if failed != 30-maxResumes {
			w.t.Errorf("%d requests failed by their TTL, want all %d that no resume hangs on", failed, 30-maxResumes)
		}
	})
}

func TestTTLEndsASuspendedRequestExactly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ttl, rounded time.Duration }{
		{time.Hour, time.Hour},
		{3*time.Second + 400*time.Millisecond, 3 * time.Second},
		{3*time.Second + 500*time.Millisecond, 4 * time.Second},
	} {
		t.Run(c.ttl.String(), func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				m := w.manager(func(cfg *Config) { cfg.SuspendTTL = c.ttl })
				stop := w.run(m)
				id := w.suspended(m, 1)[0]
				stop()
				after(c.rounded)
				must(w.t, m.resumer.dropStale(w.t.Context()))
				w.want(id, proto.StateSuspended)
				after(time.Microsecond)
				must(w.t, m.resumer.dropStale(w.t.Context()))
				want := fmt.Sprintf("suspended for longer than %s: no job runner took it", c.rounded)
				if r := w.want(id, proto.StateFail); r.Reason != want {
					w.t.Errorf("reason %q", r.Reason)
				}
			})
		})
	}
}

func TestTheClaimOfADeadManagerIsDroppedExactly(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		stop := w.run(m)
		id := w.suspended(m, 1)[0]
		stop()
		_, err := w.store.ClaimSJC(w.t.Context(), id, "rm-dead")
		must(w.t, err)
		after(5 * time.Minute)
		must(w.t, m.resumer.dropStale(w.t.Context()))
		w.runner(m, "jr-1", "http://jr-1")
		must(w.t, m.resumer.resumeOne(w.t.Context(), id)) // claimed: no error, and nothing sent
		w.wantSent(id)
		after(time.Microsecond)
		must(w.t, m.resumer.dropStale(w.t.Context()))
		must(w.t, m.resumer.resumeOne(w.t.Context(), id))
		w.wantSent(id, "resume at http://jr-1 epoch 2")
		w.want(id, proto.StateRunning)
	})
}

func TestFailedClaimsDoNotFillARunner(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		stop := w.run(m)
		id := w.suspended(m, 1)[0]
		stop()
		_, err := w.store.ClaimSJC(w.t.Context(), id, "rm-2")
		must(w.t, err)
		w.runner(m, "jr-1", "http://jr-1", func(r *proto.Runner) { r.Capacity = 1 })
		for range 5 {
			must(w.t, m.resumer.resumeOne(w.t.Context(), id))
		}
		if _, ok := m.fleet.pick(""); !ok {
			w.t.Error("the runner counts as full although nothing was sent to it")
		}
	})
}
