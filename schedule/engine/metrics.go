package engine

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/proto"
)

// metrics is what an engine counts and measures. docs/operate.md tells operators.
type metrics struct {
	ended        *prometheus.CounterVec // by state
	started      prometheus.Histogram
	late         prometheus.Counter
	skipped      prometheus.Counter
	undoFailures prometheus.Counter
	takenOver    prometheus.Counter
	lost         prometheus.Counter
	members      prometheus.Gauge
	shards       prometheus.Gauge
}

func newMetrics(r prometheus.Registerer, backlog func() int) *metrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		r.MustRegister(g)
		return g
	}
	m := &metrics{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "treadle_instances_ended_total", Help: "Instances of apps that this member saw to their end."}, []string{"state"}),
		started: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "treadle_instance_start_lateness_seconds", Help: "By how much instances started after they were due.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200}}),
		late:         counter("treadle_periods_late_total", "Periods that were not done by the deadline of their app."),
		skipped:      counter("treadle_periods_skipped_total", "Periods that did not run: missed, or while an earlier one ran."),
		undoFailures: counter("treadle_instance_undo_failures_total", "Tries to undo a failed instance that failed."),
		takenOver:    counter("treadle_instances_stolen_total", "Instances taken over from members that were not seen for too long."),
		lost:         counter("treadle_schedule_lease_lost_total", "Times that this member could not renew its lease and dropped its instances."),
		members:      gauge("treadle_schedule_members", "Members that run the schedule engine, as this one sees it."),
		shards:       gauge("treadle_schedule_shards", "Shards that are this member's."),
	}
	r.MustRegister(m.ended, m.started, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "treadle_schedule_backlog", Help: "Instances in memory that wait for their time or a worker, or are worked on.",
	}, func() float64 { return float64(backlog()) }))
	for _, s := range []proto.InstanceState{proto.InstanceSucceeded, proto.InstanceFailed} {
		m.ended.WithLabelValues(s.String())
	}
	return m
}

func (m *metrics) startedAfter(d time.Duration) { m.started.Observe(max(d, 0).Seconds()) }
