package request

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// metrics is what a manager counts and measures. docs/operate.md tells operators.
type metrics struct {
	created  prometheus.Counter
	ended    *prometheus.CounterVec // by state
	reports  prometheus.Counter
	refused  prometheus.Counter
	compared *prometheus.CounterVec // by outcome

	requests   *prometheus.GaugeVec // by state
	runners    *prometheus.GaugeVec // by state
	violations *prometheus.GaugeVec // by check
	checkedAt  prometheus.Gauge
}

// The outcomes of the comparison of a suspended job chain.
const (
	outcomeEqual   = "equal"
	outcomeDiffers = "differs"
	outcomeSkipped = "skipped"
)

// The states of runners in the metrics.
const (
	runnerUp       = "up"
	runnerDraining = "draining"
	runnerSilent   = "silent"
)

func newMetrics(r prometheus.Registerer, queueLen func() int) *metrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		r.MustRegister(c)
		return c
	}
	gauges := func(name, help, label string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{label})
		r.MustRegister(g)
		return g
	}
	m := &metrics{
		created:  counter("treadle_requests_created_total", "Requests stored by this manager."),
		ended:    counters("treadle_requests_ended_total", "Requests that ended by a call to this manager, by the state in the call.", "state"),
		reports:  counter("treadle_reports_total", "Items of reports that this manager stored or refused."),
		refused:  counter("treadle_reports_refused_total", "Items of reports that were refused: the chain was no longer the runner's."),
		compared: counters("treadle_sjc_compared_total", "Suspended job chains compared with a replay of the job log.", "outcome"),

		requests:   gauges("treadle_requests", "Requests that have not ended.", "state"),
		runners:    gauges("treadle_runners", "Registered job runners.", "state"),
		violations: gauges("treadle_invariant_violations", "Violations that treadle check finds, at most 100 of each check; must be 0.", "check"),
		checkedAt: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "treadle_invariants_checked_timestamp_seconds", Help: "When the invariants were last checked."}),
	}
	r.MustRegister(m.checkedAt, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "treadle_dispatch_queue_length", Help: "Requests that this manager is about to send to runners.",
	}, func() float64 { return float64(queueLen()) }))
	for _, s := range []proto.State{proto.StateComplete, proto.StateFail, proto.StateStopped} {
		m.ended.WithLabelValues(s.String())
	}
	for _, o := range []string{outcomeEqual, outcomeDiffers, outcomeSkipped} {
		m.compared.WithLabelValues(o)
	}
	for _, c := range store.Checks() {
		m.violations.WithLabelValues(c)
	}
	return m
}

// countReport counts a report and what ended by it.
func (x *metrics) countReport(items []proto.ReportItem, refused map[string]bool) {
	x.reports.Add(float64(len(items)))
	x.refused.Add(float64(len(refused)))
	for i := range items {
		if it := &items[i]; it.Final != proto.StateUnknown && !refused[it.RequestID] {
			x.ended.WithLabelValues(it.Final.String()).Inc()
		}
	}
}
