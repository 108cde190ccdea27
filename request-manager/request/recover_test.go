package request

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/xid"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// The whole time after which a silent runner is declared dead.
const silence = time.Minute + 5*time.Second

// With the first of two jobs done, the runner is killed.
func TestTheRequestsOfADeadRunnerGoOnAfterItsLease(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		after(silence) // the manager has had the database for long
		dead := w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		after(time.Second)
		dead.report(id, proto.StateUnknown, w.entry(id, "first", 0))
		after(2 * time.Second)
		dead.kill()
		dead.beat()
		last := time.Now()
		w.runner(m, "jr-2", "http://jr-2")
		after(silence - time.Second)
		w.want(id, proto.StateRunning)
		w.wantSent(id, "start at http://jr-1 epoch 1")
		after(3 * time.Second)
		w.wantSent(id, "start at http://jr-1 epoch 1", "resume at http://jr-2 epoch 2")
		if d := time.Since(last); d < silence {
			w.t.Fatalf("declared dead after %s", d)
		}
		var sjc proto.SuspendedJobChain
		must(w.t, json.Unmarshal(w.sendings(id)[1].body, &sjc))
		if sjc.Entries != 1 || sjc.JobChain.FinishedJobs != 1 {
			w.t.Errorf("the job that completed would run again: %+v", sjc)
		}
		// It comes back late: it was declared dead for good.
		_, err := m.Heartbeat(w.t.Context(), dead.self)
		if proto.ErrorCode(err) != proto.CodeConflict {
			w.t.Errorf("its heartbeat is answered with %v, want a conflict", err)
		}
		a, err := m.Report(w.t.Context(), proto.Report{RunnerID: "jr-1", Items: []proto.ReportItem{{RequestID: id, Epoch: 1, Final: proto.StateComplete}}})
		if err != nil || len(a.Refused) != 1 {
			w.t.Errorf("its report was taken: %+v, %v", a, err)
		}
	})
}

// A manager that has just come, or come back to its database, has not seen
// runners that may be well.
func TestAManagerDeclaresNobodyDeadBeforeItCouldHaveSeenIt(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		stop := w.run(m)
		silent := w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		after(time.Second)
		silent.kill()
		stop()
		after(24 * time.Hour) // the database was unavailable
		w.run(w.manager())
		after(silence)
		w.want(id, proto.StateRunning)
		after(3 * time.Second)
		w.want(id, proto.StateSuspended)
	})
}

func TestANewProcessAtTheAddressProvesTheOldOneDead(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr")
		id := w.create(m, "deploy")
		after(time.Second)
		w.fakes["http://jr"].kill()
		w.runner(m, "jr-2", "http://jr", func(r *proto.Runner) { r.PID = 8 })
		after(time.Second)
		w.wantSent(id, "start at http://jr epoch 1", "resume at http://jr epoch 2")
		runners, err := m.Runners(w.t.Context())
		must(w.t, err)
		if len(runners) != 1 || runners[0].ID != "jr-2" {
			w.t.Errorf("runners: %+v", runners)
		}
	})
}

// A mistake in the configuration: both say that they are at the same address. The one
// that answers there has it; the other one is refused, and what it had is resumed once.
func TestOfTwoRunnersAtOneAddressTheOneThatAnswersIsRegistered(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var log logs
		m := w.manager(func(c *Config) { c.Logger = slog.New(&log) })
		w.run(m)
		w.runner(m, "jr-1", "http://jr")
		id := w.create(m, "deploy")
		after(time.Second)
		w.runner(m, "jr-2", "http://jr")
		after(10 * time.Minute)
		w.wantSent(id, "start at http://jr epoch 1", "resume at http://jr epoch 2")
		runners, err := m.Runners(w.t.Context())
		must(w.t, err)
		if len(runners) != 1 || runners[0].ID != "jr-2" {
			w.t.Errorf("runners: %+v", runners)
		}
		if n := log.count("another one answers at its URL"); n != 1 {
			w.t.Errorf("said %d times", n)
		}
	})
}

func TestARequestThatItsRunnerDoesNotKnowIsRecovered(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.answers(func(_ context.Context, s sending) error {
			if s.epoch == 1 {
				return errNoAnswer // it never got there
			}
			return nil
		})
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		after(m.cfg.handOverTime() - time.Second)
		w.want(id, proto.StateRunning)
		if n := len(w.sendings(id)); n != 5 {
			w.t.Errorf("sent %d times, want 5", n)
		}
		after(10 * time.Second)
		if r := w.want(id, proto.StateRunning); r.Epoch != 2 {
			w.t.Errorf("request is under epoch %d", r.Epoch)
		}
	})
}

// A runner says which heartbeat it has acted on: once it has been told to refuse a chain that
// it does not have, nobody needs to wait for all tries to deliver it.
func TestARequestThatItsRunnerRefusesFromNowOnIsRecovered(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.answers(func(_ context.Context, s sending) error {
			if s.epoch == 1 {
				return errNoAnswer
			}
			return nil
		})
		m := w.manager()
		w.run(m)
		r := w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		after(time.Second)
		r.kill()
		beat := func(n, applied uint64) proto.HeartbeatAnswer {
			self := r.self
			self.Beat, self.Applied = n, applied
			a, err := m.Heartbeat(w.t.Context(), self)
			must(w.t, err)
			return a
		}
		if a := beat(1, 0); len(a.Refuse) != 0 {
			w.t.Errorf("a second after the hand-over it must refuse %+v", a.Refuse)
		}
		after(8 * time.Second)
		want := []proto.RunningChain{{RequestID: id, Epoch: 1}}
		for n := range uint64(3) {
			if a := beat(n+2, 1); !slices.Equal(a.Refuse, want) {
				w.t.Errorf("it must refuse %+v, want %+v", a.Refuse, want)
			}
			after(2 * time.Second)
			w.want(id, proto.StateRunning)
		}
		beat(5, 2)
		after(time.Second)
		if r := w.want(id, proto.StateRunning); r.Epoch != 2 {
			w.t.Errorf("the request is under epoch %d", r.Epoch)
		}
	})
}

func TestJobsThatMustNotRunTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		done  []string // of prepare, pay
		state proto.State
	}{
		{"have not started", nil, proto.StateSuspended},
		{"may have started", []string{"prepare"}, proto.StateFail},
		{"are done", []string{"prepare", "pay"}, proto.StateComplete}, // only the end was lost
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				m := w.manager()
				w.run(m)
				jr := w.runner(m, "jr-1", "http://jr")
				id := w.create(m, "charge")
				after(time.Second)
				for i, name := range c.done {
					jr.report(id, proto.StateUnknown, w.entry(id, name, uint64(i)))
				}
				jr.kill()
				w.runner(m, "jr-2", "http://jr", func(r *proto.Runner) { r.Draining = true })
				after(2 * time.Second)
				r := w.want(id, c.state)
				if r.FinishedJobs != uint(len(c.done)) {
					w.t.Errorf("%d jobs are finished", r.FinishedJobs)
				}
				if c.state == proto.StateFail && (!strings.Contains(r.Reason, "idempotent: false") || !strings.Contains(r.Reason, "pay (")) {
					w.t.Errorf("reason %q", r.Reason)
				}
			})
		})
	}
}

func TestAStoppedRequestOfADeadRunnerEndsStopped(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		jr := w.runner(m, "jr-1", "http://jr")
		id := w.create(m, "deploy")
		after(time.Second)
		jr.kill()
		w.stopAnswer = func(context.Context, string) error { return errNobody }
		must(w.t, m.Stop(w.t.Context(), id))
		w.want(id, proto.StateRunning)
		w.runner(m, "jr-2", "http://jr")
		after(2 * time.Second)
		w.want(id, proto.StateStopped)
	})
}

// One request cannot be read any more. The others of the same runner go on, and
// nobody tries the one without a pause.
// A request whose chain cannot be read ends, and says why; it does not stop the others.
func TestARequestThatCannotBeReadEnds(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var log logs
		m := w.manager(func(c *Config) { c.Logger = slog.New(&log) })
		w.run(m)
		bad := xid.New().String()
		must(w.t, w.store.CreateRequests(w.t.Context(), []store.NewRequest{{
			Request: proto.Request{ID: bad, Type: "deploy", User: "ann", TotalJobs: 1}, Chain: []byte("{not JSON"),
		}}))
		jr := w.runner(m, "jr-1", "http://jr")
		var ids []string
		for range 5 {
			ids = append(ids, w.create(m, "deploy"))
		}
		after(5 * time.Second)
		w.want(bad, proto.StateRunning)
		jr.kill()
		w.runner(m, "jr-2", "http://jr")
		after(5 * time.Minute)
		for _, id := range ids {
			if r := w.want(id, proto.StateRunning); r.Epoch != 2 {
				w.t.Errorf("request is under epoch %d", r.Epoch)
			}
		}
		if r := w.want(bad, proto.StateFail); !strings.Contains(r.Reason, "cannot be read") || r.FinishedAt == nil {
			w.t.Errorf("reason %q, finished at %v", r.Reason, r.FinishedAt)
		}
		if n := log.count("ending a request whose stored job chain or job log cannot be read"); n != 1 {
			w.t.Errorf("said %d times", n)
		}
	})
}

// logs counts messages.
type logs struct {
	mu       sync.Mutex
	messages []string
}

func (l *logs) Enabled(context.Context, slog.Level) bool { return true }

func (l *logs) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages = append(l.messages, r.Message)
	return nil
}

func (l *logs) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *logs) WithGroup(string) slog.Handler { return l }

func (l *logs) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.messages {
		if strings.Contains(m, text) {
			n++
		}
	}
	return n
}
