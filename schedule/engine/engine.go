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
	"github.com/treadle-run/treadle/schedule/ledger"
	"github.com/treadle-run/treadle/schedule/store"
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
	Member proto.Member
	// SpecApps are the apps that the specs declare.
	SpecApps []proto.App

	Poll       time.Duration // between two looks for what is due; default 1 s
	Heartbeat  time.Duration // between two of them; default 2 s
	StaleAfter time.Duration // a member not seen for so long loses its instances; default 15 s
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

// endTimeout bounds what is stored when the engine ends.
const endTimeout = 5 * time.Second

// Engine runs recurring work. Its methods are safe for concurrent use; those that read
// and change apps work whether Run does or not.
type Engine struct {
	*ledger.Ledger // what users ask
	*Definitions   // what they change: apps,
	*Backfills     // periods that run,
	*Undos         // and undos that fail
	*MemberList    // who runs the engine
	*SpecApps      // stores the apps of the specs
	*Waker         // hears of requests that ended

	cfg      Config
	clock    *clock
	metrics  *metrics
	apps     *ledger.Apps
	members  *members
	finisher *finisher
	roles    []func(context.Context) // of all terms alike
	backlog  atomic.Int64            // of the dispatcher
	fetchNow chan struct{}
}

// New returns an Engine; Run brings it to life. It alone knows how the roles are wired:
// each gets what it uses.
func New(cfg Config) *Engine {
	cfg = cfg.withDefaults()
	db, log, poll := cfg.Store, cfg.Logger, cfg.Poll
	fetchNow, signalNow := make(chan struct{}, 1), make(chan struct{}, 1)
	e := &Engine{cfg: cfg, fetchNow: fetchNow, clock: &clock{tolerance: margin(cfg.StaleAfter) / 3}}
	e.metrics = newMetrics(cfg.Registry, func() int { return int(e.backlog.Load()) })

	declared := make(map[string]bool, len(cfg.SpecApps))
	for _, app := range cfg.SpecApps {
		declared[app.Name] = true
	}
	e.apps = ledger.NewApps(db)
	upstream := ledger.NewUpstream(db, e.apps)
	e.Ledger = ledger.New(db, upstream, declared)

	e.members = &members{store: db, clock: e.clock, log: log, metrics: e.metrics, fetchNow: fetchNow,
		self: cfg.Member, heartbeat: cfg.Heartbeat, staleAfter: cfg.StaleAfter}
	e.MemberList = &MemberList{store: db, staleAfter: cfg.StaleAfter, shards: func() int { return int(e.members.shards.Load()) }}
	e.finisher = &finisher{store: db, apps: e.apps, clock: e.clock, metrics: e.metrics, fetchNow: fetchNow, signalNow: signalNow, poll: poll}
	extras := &extras{store: db, clock: e.clock}
	e.Definitions = &Definitions{store: db, apps: e.apps, check: cfg.Check, log: log,
		fetchNow: fetchNow, signalNow: signalNow, defining: make(chan struct{}, 1)}
	e.Backfills = &Backfills{store: db, upstream: upstream, extras: extras, fetchNow: fetchNow}
	e.Undos = &Undos{store: db, apps: e.apps, clock: e.clock, finisher: e.finisher, log: log, fetchNow: fetchNow}
	e.SpecApps = &SpecApps{store: db, apps: e.apps, ledger: e.Ledger, log: log, fetchNow: fetchNow, signalNow: signalNow, declared: cfg.SpecApps}
	e.Waker = newWaker(db, log, fetchNow)

	dependents := &dependents{store: db, apps: e.apps, upstream: upstream, extras: extras, log: log, wake: signalNow, fetchNow: fetchNow, poll: poll}
	deadlines := &deadlines{store: db, upstream: upstream, clock: e.clock, log: log, metrics: e.metrics, poll: poll}
	scheduler := &Scheduler{store: db, clock: e.clock, log: log}
	purger := &purger{store: db, log: log, keep: cfg.Keep}
	e.roles = []func(context.Context){
		e.Waker.run,    // brings back what waited for a request or a host
		dependents.run, // makes the instances of apps that depend on others
		deadlines.run,  // says what is late
		scheduler.heal, // gives a next instance to apps that have none
		purger.run,     // deletes what is old
	}
	return e
}

// Run runs the engine until ctx ends. Then it starts nothing new, releases its instances
// so that other members go on at once, and returns.
func (e *Engine) Run(ctx context.Context) {
	var once sync.WaitGroup
	once.Go(func() { e.SpecApps.run(ctx) })
	for ctx.Err() == nil {
		since, err := e.members.join(ctx)
		if err != nil {
			break
		}
		e.runTerm(ctx, since)
	}
	once.Wait()
}

// runTerm works as one member until ctx ends or the lease of the member does.
func (e *Engine) runTerm(ctx context.Context, since time.Time) {
	term, end := context.WithCancelCause(ctx)
	defer end(nil)
	dispatcher, fetcher := e.newPipeline()
	var roles sync.WaitGroup
	for _, role := range append([]func(context.Context){
		func(ctx context.Context) { e.members.keep(ctx, since, end) }, // renews the lease
		dispatcher.run, // has workers look at what is due
		fetcher.run,    // finds what is due
	}, e.roles...) {
		roles.Go(func() { role(term) })
	}
	roles.Wait()
	// Nothing of this term runs any more: its instances are for others, at once.
	e.members.leave(ctx)
	if ctx.Err() == nil {
		e.metrics.lost.Inc()
		e.cfg.Logger.Warn("this member released its instances and comes back under a new id", "reason", context.Cause(term))
	}
}

// newPipeline returns the roles that have instances in memory: they are new in each term.
func (e *Engine) newPipeline() (*Dispatcher, *Fetcher) {
	db, log := e.cfg.Store, e.cfg.Logger
	executor := &Executor{
		store: db, apps: e.apps, hook: e.cfg.Hook, clock: e.clock, log: log, metrics: e.metrics, finisher: e.finisher,
		member: e.members.id, fetchNow: e.fetchNow, poll: e.cfg.Poll, staleAfter: e.cfg.StaleAfter,
		errors: newTally(), unknown: newUnknown(log), trouble: &trouble{log: log, msg: "storing steps of instances"},
	}
	dispatcher := newDispatcher(executor, e.fetchNow, &e.backlog, e.cfg.Workers, e.cfg.MaxWaiting)
	return dispatcher, &Fetcher{store: db, apps: e.apps, clock: e.clock, buckets: e.members.ownBuckets, dispatcher: dispatcher,
		log: log, wake: e.fetchNow, poll: e.cfg.Poll, staleAfter: e.cfg.StaleAfter}
}
