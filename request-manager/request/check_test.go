package request

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// value is the value of a counter or a gauge.
func (w *world) value(x prometheus.Metric) float64 {
	w.t.Helper()
	var v dto.Metric
	must(w.t, x.Write(&v))
	return v.GetCounter().GetValue() + v.GetGauge().GetValue()
}

func TestMetricsOfTheDatabase(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		m := w.manager()
		w.run(m)
		w.suspended(m, 2) // until a runner comes
		w.create(m, "deploy")
		id := w.create(m, "deploy")
		must(t, m.Stop(t.Context(), id))
		after(16 * time.Second)
		for state, want := range map[proto.State]float64{proto.StatePending: 1, proto.StateRunning: 0, proto.StateSuspended: 2} {
			if got := w.value(m.metrics.requests.WithLabelValues(state.String())); got != want {
				t.Errorf("%s: %v requests, want %v", state, got, want)
			}
		}
		r := w.runner(m, "jr-1", "http://jr-1")
		after(16 * time.Second)
		if got := w.value(m.metrics.runners.WithLabelValues(runnerUp)); got != 1 {
			t.Errorf("%v runners are up, want 1", got)
		}
		r.kill()
		after(30 * time.Second)
		if got := w.value(m.metrics.runners.WithLabelValues(runnerSilent)); got != 1 {
			t.Errorf("%v runners are silent, want 1", got)
		}
		if got := w.value(m.metrics.created); got != 4 {
			t.Errorf("%v created, want 4", got)
		}
		if got := w.value(m.metrics.ended.WithLabelValues("STOPPED")); got != 1 {
			t.Errorf("%v ended STOPPED, want 1", got)
		}
	})
}

// A manager that has the database long enough for everything to be seen to says
// what is wrong, once a minute.
func TestMetricOfViolations(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr-1")
		good, bad := w.create(m, "deploy"), w.create(m, "deploy")
		after(time.Second)
		for _, id := range []string{good, bad} {
			w.want(id, proto.StateRunning)
		}
		violations := func(check string) float64 { return w.value(m.metrics.violations.WithLabelValues(check)) }
		after(5 * time.Minute)
		for _, c := range store.Checks() {
			if n := violations(c); n != 0 {
				t.Errorf("%s: %v violations of a database that is right", c, n)
			}
		}
		if w.value(m.metrics.checkedAt) == 0 {
			t.Error("the invariants were not checked")
		}
		// A runner that says that more jobs finished than there are.
		_, err := w.store.SaveReport(t.Context(), []proto.ReportItem{{RequestID: bad, Epoch: 1, FinishedJobs: 3}})
		must(t, err)
		after(61 * time.Second)
		for _, c := range store.Checks() {
			want := 0.0
			if c == store.CheckFinished {
				want = 1
			}
			if n := violations(c); n != want {
				t.Errorf("%s: %v violations, want %v", c, n, want)
			}
		}
	})
}

// Where a sequence has started again, only a replay tells how many jobs have
// finished.
func TestCheckReplaysSequencesThatStartedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		m := w.manager()
		w.run(m)
		r := w.runner(m, "jr-1", "http://jr-1")
		right, wrong := w.create(m, "rollout"), w.create(m, "rollout")
		after(time.Second)
		for id, finished := range map[string]uint{right: 0, wrong: 1} {
			entries := []proto.JobLog{w.entry(id, "first", 0), w.entry(id, "second", 1), w.entry(id, "third", 2)}
			entries[2].State = proto.StateFail
			c, _, err := replay(t.Context(), w.store, id)
			must(t, err)
			for i := range entries {
				must(t, c.Apply(&entries[i]))
			}
			// Past the manager, which would count by itself.
			refused, err := w.store.SaveReport(t.Context(), []proto.ReportItem{{
				RequestID: id, Epoch: 1, FinishedJobs: finished, Entries: entries, Suspended: c.Suspended(),
			}})
			must(t, err)
			if len(refused) > 0 || c.FinishedJobs() != 0 {
				t.Fatalf("refused %v, %d jobs finished", refused, c.FinishedJobs())
			}
		}
		r.kill()
		res, err := Check(t.Context(), m.cfg, time.Hour)
		must(t, err)
		if len(res.Findings) != 1 || res.Findings[0].RequestID != wrong || res.Findings[0].Check != store.CheckFinished {
			t.Errorf("found %+v, want that of %s alone", res.Findings, wrong)
		}
	})
}
