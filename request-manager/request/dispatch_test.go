package request

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/proto"
)

func TestARequestWaitsForARunner(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		id := w.create(m, "deploy")
		after(time.Minute)
		w.want(id, proto.StatePending)
		r, err := m.Get(w.t.Context(), id)
		must(w.t, err)
		if !strings.Contains(r.Reason, "waits for a job runner") {
			w.t.Errorf("reason %q", r.Reason)
		}
		w.runner(m, "jr-1", "http://jr-1")
		after(time.Second)
		if r := w.want(id, proto.StateRunning); r.JobRunnerURL != "http://jr-1" || r.Epoch != 1 || r.StartedAt == nil {
			w.t.Errorf("request %+v", r)
		}
		w.wantSent(id, "start at http://jr-1 epoch 1")
	})
}

func TestCapacityIsKept(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		jr := w.runner(m, "jr-1", "http://jr-1", func(r *proto.Runner) { r.Capacity = 2 })
		var ids []string
		for range 5 {
			ids = append(ids, w.create(m, "deploy"))
		}
		after(time.Minute)
		if n := len(w.sendings("")); n != 2 {
			w.t.Fatalf("%d requests were sent to a runner with room for 2", n)
		}
		jr.report(w.sendings("")[0].id, proto.StateComplete)
		synctest.Wait()
		after(10 * time.Millisecond)
		if n := len(w.sendings("")); n != 3 {
			w.t.Errorf("%d requests were sent right after one of two had ended, want 3", n)
		}
		for len(w.sendings("")) < 5 {
			all := w.sendings("")
			jr.report(all[len(all)-2].id, proto.StateComplete)
			after(3 * time.Second)
		}
		for _, id := range ids {
			if len(w.sendings(id)) != 1 {
				w.t.Errorf("%s was sent %d times", id, len(w.sendings(id)))
			}
		}
	})
}

func TestARefusedRequestGoesToAnotherRunner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer error
	}{{"refused", errFull}, {"nobody at the address", errNobody}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.answers(func(_ context.Context, s sending) error {
					if s.url == "http://jr-1" {
						return c.answer
					}
					return nil
				})
				m := w.manager()
				w.run(m)
				w.runner(m, "jr-1", "http://jr-1")
				id := w.create(m, "deploy")
				after(time.Second)
				if r := w.want(id, proto.StatePending); !strings.Contains(r.Reason, "http://jr-1") || r.StartedAt != nil {
					w.t.Errorf("request %+v", r)
				}
				after(time.Minute)
				if n := len(w.sendings(id)); n < 5 || n > 40 {
					w.t.Errorf("the one runner there is was asked %d times in a minute", n)
				}
				w.runner(m, "jr-2", "http://jr-2")
				after(5 * time.Second)
				if r := w.want(id, proto.StateRunning); r.JobRunnerURL != "http://jr-2" || r.Reason != "" {
					w.t.Errorf("request %+v", r)
				}
			})
		})
	}
}

// A runner that does not answer may have the request: no other must get it, and no
// other epoch.
func TestARunnerThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		tries := 0
		w.answers(func(context.Context, sending) error {
			if tries++; tries <= 3 {
				return errNoAnswer
			}
			return nil
		})
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		w.runner(m, "jr-2", "http://jr-2")
		after(time.Minute)
		first := w.sendings(id)[0].String()
		w.wantSent(id, first, first, first, first)
		w.want(id, proto.StateRunning)
	})
}

// The runner got the request, its answer was lost, and now nobody can reach it.
func TestARequestThatMayHaveArrivedIsNotSentElsewhere(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		tries := 0
		w.answers(func(context.Context, sending) error {
			if tries++; tries == 1 {
				return errNoAnswer
			}
			return errNobody
		})
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		after(50 * time.Second) // all tries, and less than a lease
		w.runner(m, "jr-2", "http://jr-2")
		after(10 * time.Second)
		s := "start at http://jr-1 epoch 1"
		w.wantSent(id, s, s, s, s, s)
		w.want(id, proto.StateRunning)
	})
}

// Another process came up at the address: it must not get under an old epoch what
// the process before it may have started.
func TestARequestIsNotSentAgainToTheProcessThatTookTheAddress(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.answers(func(context.Context, sending) error { return errNoAnswer })
		m := w.manager()
		w.run(m)
		old := w.runner(m, "jr-1", "http://jr")
		id := w.create(m, "deploy")
		after(time.Second)
		w.wantSent(id, "start at http://jr epoch 1")
		old.kill()
		w.answers(nil)
		w.runner(m, "jr-2", "http://jr")
		after(30 * time.Second)
		w.wantSent(id, "start at http://jr epoch 1", "resume at http://jr epoch 2")
		w.want(id, proto.StateRunning)
	})
}

// The first try may have arrived, and the second found another process, of which
// the manager had not seen yet: what the first one ran must not be forgotten.
func TestARequestThatMayHaveArrivedAtAnotherProcessIsRecovered(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		tries := 0
		w.answers(func(_ context.Context, s sending) error {
			switch tries++; {
			case s.epoch > 1:
				return nil
			case tries == 1:
				return errNoAnswer
			}
			return proto.Errorf(proto.CodeNotFound, "the request is for runner jr-1, and this is jr-2")
		})
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "charge")
		after(30 * time.Second)
		s := "start at http://jr-1 epoch 1"
		w.wantSent(id, s, s)
		if r := w.want(id, proto.StateRunning); r.Epoch != 1 {
			w.t.Errorf("it was given to another runner, under epoch %d", r.Epoch)
		}
	})
}

func TestNothingGoesToARunnerWhoseAddressWasTaken(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr").kill() // kill -9: it says nothing
		w.runner(m, "jr-2", "http://jr")
		for range 20 {
			w.create(m, "deploy")
		}
		after(time.Second)
		held, err := w.store.HeldBy(w.t.Context(), "jr-2")
		must(w.t, err)
		if len(held) != 20 {
			w.t.Errorf("%d of 20 requests are the new process's", len(held))
		}
	})
}

func TestAChainThatNoRunnerCanTakeFails(t *testing.T) {
	t.Parallel()
	for _, code := range []proto.Code{proto.CodeInvalid, proto.CodeTooLarge, proto.CodeUnprocessable} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				bad := ""
				w.answers(func(_ context.Context, s sending) error {
					if s.id == bad {
						return proto.Errorf(code, "body larger than 3 MiB")
					}
					return nil
				})
				m := w.manager()
				r, _, err := m.build(w.t.Context(), proto.CreateRequest{Type: "deploy"})
				must(w.t, err)
				bad = r.Request.ID
				w.run(m)
				w.runner(m, "jr-1", "http://jr-1")
				must(w.t, m.creator.create(w.t.Context(), r))
				must(w.t, m.Start(w.t.Context(), bad))
				after(100 * time.Millisecond)
				if r := w.want(bad, proto.StateFail); r.Reason != "job runner http://jr-1: body larger than 3 MiB" {
					w.t.Errorf("reason %q", r.Reason)
				}
				id := w.create(m, "deploy") // the runner is not held to be bad for it
				after(100 * time.Millisecond)
				w.want(id, proto.StateRunning)
			})
		})
	}
}

func TestARunnerThatHangsDoesNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.answers(func(ctx context.Context, s sending) error {
			if s.url == "http://jr-1" {
				return hang(ctx)
			}
			return nil
		})
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr-1")
		w.runner(m, "jr-2", "http://jr-2")
		for range 500 {
			w.create(m, "deploy")
		}
		after(5 * time.Second)
		at := map[string]int{}
		for _, s := range w.sendings("") {
			at[s.url]++
		}
		if at["http://jr-1"] != maxDeliveries || at["http://jr-2"] != 500-maxDeliveries {
			w.t.Errorf("sent after 5 s: %v", at)
		}
	})
}

func TestADrainingRunnerGetsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		jr := w.runner(m, "jr-1", "http://jr-1")
		must(w.t, m.Drain(w.t.Context(), "jr-1", true))
		after(3 * time.Second)
		if !jr.lastAnswer().Drain {
			w.t.Error("the runner was not told to drain")
		}
		id := w.create(m, "deploy")
		after(10 * time.Second)
		w.wantSent(id)
		must(w.t, m.Drain(w.t.Context(), "http://jr-1", false))
		after(5 * time.Second)
		w.want(id, proto.StateRunning)
		errorCode(w.t, m.Drain(w.t.Context(), "jr-9", true), proto.CodeNotFound)
	})
}

func TestTwoManagersSendEachRequestOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m1, m2 := w.manager(), w.manager(func(c *Config) { c.ManagerID = "rm-2" })
		var ids []string
		for range 60 { // m1 does not run yet: both find them in the store
			n, _, err := m1.build(w.t.Context(), proto.CreateRequest{Type: "deploy"})
			must(w.t, err)
			m1.creator.storeBatch(w.t.Context(), []*creation{{new: n, done: make(chan error, 1)}})
			ids = append(ids, n.Request.ID)
		}
		after(3 * time.Second)
		for _, m := range []*Manager{m1, m2} {
			w.run(m)
		}
		w.runner(m1, "jr-1", "http://jr-1")
		w.runner(m2, "jr-2", "http://jr-2")
		after(10 * time.Second)
		for _, id := range ids {
			w.want(id, proto.StateRunning)
			if s := w.sendings(id); len(s) != 1 || s[0].epoch != 1 {
				w.t.Errorf("sent: %v", s)
			}
		}
	})
}

// A request that is RUNNING and was not sent would take long to be found.
func TestInFlightHandOversCompleteWhenTheManagerEnds(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.answers(func(ctx context.Context, _ sending) error {
			select {
			case <-time.After(5 * time.Second):
				return nil
			case <-ctx.Done():
				return hang(ctx)
			}
		})
		m := w.manager()
		stop := w.run(m)
		jr := w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		after(time.Second)
		w.wantSent(id, "start at http://jr-1 epoch 1")
		start := time.Now()
		stop()
		if d := time.Since(start); d > 5*time.Second {
			w.t.Errorf("the end took %s", d)
		}
		if len(jr.has) != 1 {
			w.t.Error("the runner does not have the request")
		}
	})
}

func TestStartIsForPendingRequests(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		id := w.create(m, "deploy")
		must(w.t, m.Start(w.t.Context(), id))
		w.runner(m, "jr-1", "http://jr-1")
		after(time.Second)
		errorCode(w.t, m.Start(w.t.Context(), id), proto.CodeConflict)
		errorCode(w.t, m.Start(w.t.Context(), "no-such-request"), proto.CodeNotFound)
		w.wantSent(id, "start at http://jr-1 epoch 1")
	})
}
