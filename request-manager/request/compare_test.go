package request

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/chain"
	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/proto"
)

// handBack has a runner hand back a chain, changed by change, after one entry.
func (w *world) handBack(m *Manager, r *fakeRunner, id string, change func(*proto.SuspendedJobChain)) {
	w.t.Helper()
	c, _, err := replay(w.t.Context(), w.store, id)
	must(w.t, err)
	name := "first"
	if c.TotalJobs() == 1 {
		name = "ask"
	}
	e := w.entry(id, name, 0)
	e.State = proto.StateStopped // so that every request goes on
	must(w.t, c.Apply(&e))
	sjc := c.Suspended()
	change(sjc)
	a, err := m.Report(w.t.Context(), proto.Report{RunnerID: r.self.ID, Items: []proto.ReportItem{{
		RequestID: id, Epoch: 1, Entries: []proto.JobLog{e}, Suspended: sjc,
	}}})
	must(w.t, err)
	if len(a.Refused) > 0 {
		w.t.Fatalf("refused: %+v", a.Refused)
	}
	w.mu.Lock()
	delete(r.has, id)
	w.mu.Unlock()
}

func TestHandedBackChainsAreComparedWithTheLog(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		var log bytes.Buffer
		m := w.manager(func(c *Config) {
			c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
		})
		stop := w.run(m)
		r := w.runner(m, "jr-1", "http://jr-1")
		ids := []string{w.create(m, "deploy"), w.create(m, "deploy"), w.create(m, "login")}
		after(time.Second)
		w.handBack(m, r, ids[0], func(*proto.SuspendedJobChain) {})
		w.handBack(m, r, ids[1], func(s *proto.SuspendedJobChain) { clear(s.TotalJobTries) })
		w.handBack(m, r, ids[2], func(s *proto.SuspendedJobChain) {
			for _, j := range s.JobChain.Jobs {
				j.Data = proto.Values{"password": "hunter2"}
			}
		})
		after(time.Second)
		for outcome, want := range map[string]float64{outcomeEqual: 1, outcomeDiffers: 2, outcomeSkipped: 0} {
			if got := w.value(m.metrics.compared.WithLabelValues(outcome)); got != want {
				t.Errorf("%s: %v chains, want %v", outcome, got, want)
			}
		}
		stop()
		text := log.String()
		if !strings.Contains(text, "request="+ids[1]) || !strings.Contains(text, "totalJobTries") || strings.Contains(text, ids[0]) {
			t.Errorf("logged: %s", text)
		}
		if !strings.Contains(text, "data.password") || strings.Contains(text, "hunter2") {
			t.Errorf("the secret must be masked: %s", text)
		}
	})
}

// What the Request Manager suspends itself comes from the log: there is nothing to
// compare.
func TestRecoveredChainsAreNotCompared(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		m := w.manager()
		w.run(m)
		w.suspended(m, 3)
		after(time.Second)
		for _, o := range []string{outcomeEqual, outcomeDiffers, outcomeSkipped} {
			if got := w.value(m.metrics.compared.WithLabelValues(o)); got != 0 {
				t.Errorf("%s: %v", o, got)
			}
		}
	})
}

func TestComparisonsAreBounded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		m := w.manager() // not running: nothing is taken
		jobs := map[string]*proto.Job{}
		for _, id := range strings.Fields("a b c") {
			jobs[id] = nil
		}
		sjc := &proto.SuspendedJobChain{JobChain: &proto.JobChain{Jobs: jobs}}
		m.comparer.jobs = maxCompareJobs - 4
		m.comparer.add(sjc) // the first one always
		m.comparer.add(sjc)
		if n := len(m.comparer.waiting); n != 1 {
			t.Errorf("%d wait, want 1", n)
		}
		if got := w.value(m.metrics.compared.WithLabelValues(outcomeSkipped)); got != 1 {
			t.Errorf("%v skipped, want 1", got)
		}
	})
}

func TestDifferencesNameThePlaceAndBothValues(t *testing.T) {
	t.Parallel()
	jc := func() *proto.JobChain {
		return &proto.JobChain{RequestID: "r", Jobs: map[string]*proto.Job{"a": {ID: "a", State: proto.StateComplete, Bytes: []byte("s3cret")}}}
	}
	c, err := chain.New(jc())
	must(t, err)
	runner, replay := c.Suspended(), c.Suspended()
	replay.JobChain = jc()
	replay.JobChain.Jobs["a"].State = proto.StatePending
	replay.JobChain.Jobs["a"].Bytes = []byte("other")
	replay.SequenceTries = map[string]uint{"q": 2}
	runner.JobChain = jc()
	got, err := differences(runner, replay, mask.New(nil))
	must(t, err)
	want := []string{
		"jobChain.jobs.a.bytes: runner (not shown), replay (not shown)",
		"jobChain.jobs.a.state: runner 3, replay 1",
		"sequenceTries.q: runner null, replay 2",
	}
	found := map[string]bool{}
	for _, d := range got {
		found[d] = true
	}
	for _, d := range want {
		if !found[d] {
			t.Errorf("%q is missing in %q", d, got)
		}
	}
}
