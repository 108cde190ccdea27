package engine

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// Config is what an Engine needs.
type Config struct {
	Store *store.Store
	Hook  Hook
	// Check says what is wrong with an app, given all others by name: an error with
	// CodeInvalid. nil accepts all that have a calendar.
	Check  func(app proto.App, others map[string]proto.App) error
	Logger *slog.Logger
	// Registry gets the metrics; default: one of its own.
	Registry *prometheus.Registry
	// Node names this member. Its ID must be new for every process; the times are set
	// by the database.
	Node proto.Node
	// SpecApps are the apps that the specs declare.
	SpecApps []proto.App

	Poll       time.Duration // between two looks for what is due; default 1 s
	Heartbeat  time.Duration // between two of them; default 2 s
	StaleAfter time.Duration // a member not heard of for so long loses its instances; default 15 s
	Workers    int           // instances worked on at a time; default 128
	MaxWaiting int           // instances in memory that wait for their time or a worker; default 5,000
	Keep       time.Duration // of instances that ended, and events; default 400 days
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	if c.Check == nil {
		c.Check = func(proto.App, map[string]proto.App) error { return nil }
	}
	c.Workers = cmp.Or(c.Workers, 128)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 5_000)
	c.Poll = cmp.Or(c.Poll, time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, 2*time.Second)
	c.StaleAfter = cmp.Or(c.StaleAfter, 15*time.Second)
	c.Keep = cmp.Or(c.Keep, 400*24*time.Hour)
	return c
}

// endTimeout is for what is stored when the engine ends.
const endTimeout = 5 * time.Second

// Engine runs recurring work. Its methods are safe for concurrent use; those that
// read and change apps work whether Run does or not.
type Engine struct {
	cfg       Config
	store     *store.Store
	log       *slog.Logger
	metrics   *metrics
	jobs      *jobs
	clock     *clock
	member    *membership
	scheduler *Scheduler
	wake      *waker
	backlog   atomic.Int64    // of the dispatcher
	declared  map[string]bool // names of the apps of the specs

	fetchWake  chan struct{}
	signalWake chan struct{}
	defining   chan struct{} // holds one while a definition is being changed
}

// New returns an Engine; Run brings it to life.
func New(cfg Config) *Engine {
	cfg = cfg.withDefaults()
	e := &Engine{
		cfg: cfg, store: cfg.Store, log: cfg.Logger,
		jobs: newJobs(cfg.Store), clock: &clock{}, wake: newWaker(),
		fetchWake: make(chan struct{}, 1), signalWake: make(chan struct{}, 1), defining: make(chan struct{}, 1),
	}
	e.metrics = newMetrics(cfg.Registry, func() int { return int(e.backlog.Load()) })
	e.declared = make(map[string]bool, len(cfg.SpecApps))
	for _, app := range cfg.SpecApps {
		e.declared[app.Name] = true
	}
	e.member = &membership{e: e}
	e.scheduler = &Scheduler{e: e}
	return e
}

// Run runs the engine until ctx ends. Then it takes nothing new, gives up what it
// works on so that other members go on at once, and returns.
func (e *Engine) Run(ctx context.Context) {
	var once sync.WaitGroup
	once.Go(func() { e.syncUntilDone(ctx) })
	for ctx.Err() == nil {
		since, err := e.member.join(ctx)
		if err != nil {
			break
		}
		e.runTerm(ctx, since)
	}
	once.Wait()
}

// runTerm works as one member until ctx ends or the member's right to work does.
func (e *Engine) runTerm(ctx context.Context, since time.Time) {
	term, end := context.WithCancelCause(ctx)
	defer end(nil)
	dispatcher := newDispatcher(e)
	fetcher := &Fetcher{e: e, dispatcher: dispatcher}
	var roles sync.WaitGroup
	for _, role := range []func(context.Context){
		func(ctx context.Context) { e.member.keep(ctx, since, end) }, // says that it lives
		dispatcher.run,   // has workers look at what is due
		fetcher.run,      // finds what is due
		e.wake.run(e),    // brings back what waited for a request or a host
		e.settleSignals,  // makes the instances of apps that depend on others
		e.watchDeadlines, // says what is late
		e.scheduler.heal, // gives a next instance to apps that have none
		e.purge,          // forgets what is old
	} {
		roles.Go(func() { role(term) })
	}
	roles.Wait()
	// Nothing of this term runs any more: what it left is for others, at once.
	e.member.leave(ctx)
	if ctx.Err() == nil {
		e.metrics.lost.Inc()
		e.log.Warn("this member gave up its instances and comes back under a new id", "reason", context.Cause(term))
	}
}
