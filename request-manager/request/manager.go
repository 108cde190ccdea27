package request

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// JobRunners reaches Job Runners by their base URL. An error of type
// *proto.Error without a cause is the runner's own answer.
type JobRunners interface {
	// StartChain and ResumeChain send a chain to a runner, by ID and URL; body is its
	// JSON.
	StartChain(ctx context.Context, to proto.Runner, requestID string, epoch uint64, body []byte) error
	ResumeChain(ctx context.Context, to proto.Runner, requestID string, epoch uint64, body []byte) error
	StopChain(ctx context.Context, url, requestID string) error
	Running(ctx context.Context, url string) ([]proto.JobStatus, error)
}

// Config is what a Manager needs.
type Config struct {
	Store   *store.Store
	Specs   *grapher.Specs
	Runners JobRunners
	Logger  *slog.Logger
	// Registry gets the metrics; default: one of its own.
	Registry *prometheus.Registry
	// Host names this manager in claims; it must be new for every process.
	Host string
	// RunnerURL, if not "", is the one runner that chains are sent to.
	RunnerURL string

	MaxArgsSize      int           // bytes of JSON of a request's args; default 1 MiB
	RunnerTries      int           // to reach a runner that does not answer; default 5
	RunnerRetryWait  time.Duration // between these tries; default 5 s
	DeliveryTimeout  time.Duration // that one of these tries takes at most; default 10 s
	Lease            time.Duration // of runners; default 60 s
	LeaseMargin      time.Duration // after the lease, until a runner is given up; default 5 s
	SuspendTTL       time.Duration // default 1 h
	ClaimTimeout     time.Duration // default 5 min
	ResumeEvery      time.Duration // default 3 s
	StatusTimeout    time.Duration // for a runner to say what it runs, or to take a stop; default 2 s
	KeepKeys         time.Duration // idempotency keys; default 48 h
	HeartbeatTimeout time.Duration // a runner not heard of for so long gets nothing new; default 8 s

	// Ended, if not nil, is told of requests that ended through this manager, or may
	// have. HostUp, if not nil, is told of a host that had no runner that takes
	// chains, and has one. Both are called where requests are worked on: they must
	// return at once.
	Ended  func(requestIDs ...string)
	HostUp func(host string)
}

func (c Config) withDefaults() Config {
	if c.Ended == nil {
		c.Ended = func(...string) {}
	}
	if c.HostUp == nil {
		c.HostUp = func(string) {}
	}
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	c.MaxArgsSize = cmp.Or(c.MaxArgsSize, proto.DefaultArgsSize)
	c.RunnerTries = cmp.Or(c.RunnerTries, 5)
	c.RunnerRetryWait = cmp.Or(c.RunnerRetryWait, 5*time.Second)
	c.DeliveryTimeout = cmp.Or(c.DeliveryTimeout, 10*time.Second)
	c.Lease = cmp.Or(c.Lease, time.Minute)
	c.LeaseMargin = cmp.Or(c.LeaseMargin, 5*time.Second)
	c.SuspendTTL = cmp.Or(c.SuspendTTL, time.Hour)
	c.ClaimTimeout = cmp.Or(c.ClaimTimeout, 5*time.Minute)
	c.ResumeEvery = cmp.Or(c.ResumeEvery, 3*time.Second)
	c.StatusTimeout = cmp.Or(c.StatusTimeout, 2*time.Second)
	c.KeepKeys = cmp.Or(c.KeepKeys, 48*time.Hour)
	c.HeartbeatTimeout = cmp.Or(c.HeartbeatTimeout, 8*time.Second)
	return c
}

// ttl is for how long a request may be SUSPENDED: users are told whole seconds.
func (c *Config) ttl() time.Duration { return c.SuspendTTL.Round(time.Second) }

// Manager sees requests through their life. Its methods are safe for concurrent
// use, and work only while Run does.
type Manager struct {
	cfg      Config
	store    *store.Store
	log      *slog.Logger
	metrics  *metrics
	creator  *creator
	queue    *dispatchQueue
	fleet    *fleet
	changes  *changes
	resumer  *Resumer
	recover  *recoverer
	comparer *comparer
	newHost  chan struct{} // has room for one: a host has a runner that had none
}

// New returns a Manager; Run brings it to life.
func New(cfg Config) *Manager {
	cfg = cfg.withDefaults()
	m := &Manager{
		cfg:     cfg,
		store:   cfg.Store,
		log:     cfg.Logger,
		creator: newCreator(cfg.Store),
		queue:   newDispatchQueue(),
		changes: newChanges(),
		newHost: make(chan struct{}, 1),
	}
	m.metrics = newMetrics(cfg.Registry, m.queue.len)
	m.fleet = newFleet(m)
	m.resumer = &Resumer{m: m, wake: make(chan struct{}, 1)}
	m.recover = &recoverer{m: m, wake: make(chan struct{}, 1)}
	m.comparer = &comparer{m: m, wake: make(chan struct{}, 1)}
	return m
}

// Run runs the roles of the manager until ctx ends, and returns when all of them
// have ended.
func (m *Manager) Run(ctx context.Context) {
	var roles sync.WaitGroup
	for _, role := range []func(context.Context){
		m.creator.run,     // stores new requests
		m.fleet.run,       // knows the runners
		m.dispatch,        // sends what is PENDING to them
		m.resumer.run,     // sends what is SUSPENDED to them
		m.resumer.cleanUp, // drops old claims, fails what is SUSPENDED for too long
		m.recover.run,     // finds what is RUNNING on runners that are no more
		m.purgeKeys,       // forgets old idempotency keys and runners
		m.comparer.run,    // holds what runners hand in against the job log
		m.observe,         // counts, and looks at the invariants
	} {
		roles.Go(func() { role(ctx) })
	}
	roles.Wait()
}

// Resumer returns the part of the manager that suspends and resumes.
func (m *Manager) Resumer() *Resumer { return m.resumer }

// Ready says whether requests can be taken, and why not.
func (m *Manager) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return storeError(m.store.Ping(ctx), "")
}

// readyTimeout is for the database to answer whoever asks whether the manager is
// ready: load balancers do not wait long.
const readyTimeout = 2 * time.Second

// every calls do once, and again at each tick or wake, until ctx ends.
func every(ctx context.Context, interval time.Duration, wake <-chan struct{}, do func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		do(ctx)
		select {
		case <-tick.C:
		case <-wake:
		case <-ctx.Done():
			return
		}
	}
}

// keepGone is for how long the heartbeat of a runner that is gone may come late.
const keepGone = 24 * time.Hour

func (m *Manager) purgeKeys(ctx context.Context) {
	every(ctx, time.Hour, nil, func(ctx context.Context) {
		if _, err := m.store.PurgeKeys(ctx, m.cfg.KeepKeys); err != nil && ctx.Err() == nil {
			m.log.Warn("cannot forget old idempotency keys", "error", err)
		}
		if _, err := m.store.PurgeRunners(ctx, keepGone); err != nil && ctx.Err() == nil {
			m.log.Warn("cannot forget job runners that are gone", "error", err)
		}
	})
}
