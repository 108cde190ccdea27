package request

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// onHost creates requests that only a runner on the host may run.
func (w *world) onHost(m *Manager, host string, n int) []string {
	w.t.Helper()
	ids := make([]string, n)
	for i := range ids {
		r, err := m.Create(w.t.Context(), proto.CreateRequest{Type: "deploy", Host: host}, "ann", "")
		must(w.t, err)
		ids[i] = r.ID
	}
	return ids
}

func (w *world) wantReason(m *Manager, id, want string) {
	w.t.Helper()
	r, err := m.Get(w.t.Context(), id)
	must(w.t, err)
	if !strings.Contains(r.Reason, want) {
		w.t.Errorf("the request is %s, reason %q, want %q", r.State, r.Reason, want)
	}
}

func TestARequestOfAHostGoesThereAlone(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		w.runner(m, "other", "http://other")
		id := w.onHost(m, "db1", 1)[0]
		after(time.Minute)
		w.wantSent(id)
		w.want(id, proto.StatePending)
		w.wantReason(m, id, "waits for a job runner on host db1")
		found, err := m.Find(w.t.Context(), proto.RequestFilter{})
		must(w.t, err)
		if len(found) != 1 || found[0].Host != "db1" || !strings.Contains(found[0].Reason, "host db1") {
			w.t.Errorf("in the list it is %+v", found)
		}

		jr := w.runner(m, "db1", "http://db1")
		after(100 * time.Millisecond)
		w.wantSent(id, "start at http://db1 epoch 1")
		if r := w.want(id, proto.StateRunning); r.Host != "db1" || r.Reason != "" {
			w.t.Errorf("request %+v", r)
		}
		jr.report(id, proto.StateComplete)
		w.want(id, proto.StateComplete)
	})
}

func TestASuspendedRequestOfAHostIsResumedThere(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		w.runner(m, "other", "http://other")
		jr := w.runner(m, "db1", "http://db1")
		id := w.onHost(m, "db1", 1)[0]
		after(time.Second)
		w.want(id, proto.StateRunning)
		jr.kill()
		after(3 * time.Minute)
		w.want(id, proto.StateSuspended)
		w.wantReason(m, id, "waits for a job runner on host db1")
		w.runner(m, "db1-again", "http://db1", func(r *proto.Runner) { r.Host = "db1" })
		after(5 * time.Second)
		w.want(id, proto.StateRunning)
		w.wantSent(id, "start at http://db1 epoch 1", "resume at http://db1 epoch 2")
	})
}

// Neither what waits for a host without a runner nor what waits for one that is full
// keeps anything else from being sent.
func TestManyRequestsOfAHostDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		w.runner(m, "full", "http://full", func(r *proto.Runner) { r.Capacity = 1 })
		away, full := w.onHost(m, "away", 300), w.onHost(m, "full", 300)
		after(10 * time.Second)
		if n := len(w.sendings("")); n != 1 {
			w.t.Fatalf("%d were sent to a runner with room for 1", n)
		}
		w.runner(m, "free", "http://free")
		id := w.create(m, "deploy")
		after(10 * time.Millisecond)
		w.wantSent(id, "start at http://free epoch 1")
		w.runner(m, "away", "http://away")
		after(10 * time.Second)
		for _, id := range away {
			w.wantSent(id, "start at http://away epoch 1")
		}
		waiting := 0
		for _, id := range full {
			if len(w.sendings(id)) == 0 {
				waiting++
			}
		}
		if waiting != 299 {
			w.t.Errorf("%d wait for the full runner, want 299", waiting)
		}
	})
}

func TestADrainingHostIsNotAcceptingJobChains(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var mu sync.Mutex
		var up []string
		m := w.manager(func(c *Config) {
			c.HostUp = func(host string) {
				mu.Lock()
				defer mu.Unlock()
				up = append(up, host)
			}
		})
		w.run(m)
		if m.HostUp("db1") {
			w.t.Error("a host is up that nobody has seen")
		}
		jr := w.runner(m, "db1", "http://db1")
		draining := func(on bool) {
			w.mu.Lock()
			jr.self.Draining = on
			w.mu.Unlock()
			after(3 * time.Second)
		}
		draining(true)
		if m.HostUp("db1") {
			w.t.Error("a host whose only runner drains is up")
		}
		id := w.onHost(m, "db1", 1)[0]
		after(10 * time.Second)
		w.wantReason(m, id, "waits for a job runner on host db1")
		draining(false)
		w.want(id, proto.StateRunning)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(up, []string{"db1", "db1"}) || !m.HostUp("db1") {
			w.t.Errorf("hosts that came up: %v", up)
		}
	})
}

func TestTheKeyOfARequestIsForItsHost(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		create := func(host string) (proto.Request, error) {
			return m.Create(w.t.Context(), proto.CreateRequest{Type: "deploy", Host: host}, "ann", "key")
		}
		first, err := create("db1")
		must(w.t, err)
		again, err := create("db1")
		must(w.t, err)
		if first.ID != again.ID {
			w.t.Error("the same key and host made two requests")
		}
		_, err = create("db2")
		errorCode(w.t, err, proto.CodeConflict)
		_, err = m.Create(w.t.Context(), proto.CreateRequest{Type: "deploy", Host: " db1\n"}, "ann", "")
		errorCode(w.t, err, proto.CodeInvalid)
	})
}

// Whoever waits for the end of requests hears of each, however it ends.
func TestEndsAreTold(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var mu sync.Mutex
		ended := map[string]bool{}
		m := w.manager(func(c *Config) {
			c.SuspendTTL = 10 * time.Minute
			c.Ended = func(ids ...string) {
				mu.Lock()
				defer mu.Unlock()
				for _, id := range ids {
					ended[id] = true
				}
			}
		})
		w.run(m)
		told := func(what, id string, want bool) {
			w.t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if ended[id] != want {
				w.t.Errorf("%s: told of its end: %t, want %t", what, ended[id], want)
			}
		}
		pending := w.create(m, "deploy")
		must(w.t, m.Stop(w.t.Context(), pending))
		told("stopped while PENDING", pending, true)
		failed := w.create(m, "deploy")
		must(w.t, m.FailPending(w.t.Context(), failed, "because"))
		told("failed while PENDING", failed, true)

		jr := w.runner(m, "jr-1", "http://jr-1")
		done, lost := w.create(m, "deploy"), w.create(m, "deploy")
		after(time.Second)
		told("RUNNING", done, false)
		jr.report(done, proto.StateComplete)
		told("COMPLETE", done, true)
		jr.kill()
		after(20 * time.Minute)
		w.want(lost, proto.StateFail)
		told("suspended for too long", lost, true)
	})
}

// A host that is back is found at once, also by a manager that its runner does not
// beat to.
func TestAHostIsSeenThroughTheRegistry(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		a, b := w.manager(), w.manager(func(c *Config) { c.ManagerID = "rm-2" })
		w.run(a)
		w.run(b)
		w.runner(a, "db1", "http://db1")
		after(3 * time.Second)
		for i, id := range w.onHost(b, "db1", 3) {
			after(10 * time.Millisecond)
			if n := len(w.sendings(id)); n != 1 {
				w.t.Errorf("request %d was sent %d times", i, n)
			}
		}
	})
}
