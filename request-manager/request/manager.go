package request

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/treadle-run/treadle/request-manager/store"
)

// Manager sees requests through their life. Its methods are safe for concurrent
// use, and work only while Run does.
type Manager struct {
	cfg     Config
	store   *store.Store
	log     *slog.Logger
	metrics *metrics
	changes *changes

	fleet      *fleet
	creator    *creator
	dispatcher *dispatcher
	reporter   *reporter
	resumer    *resumer
	comparer   *comparer
	missing    *missingChains
	folds      *folds
	identities *identities
	recoverer  *recoverer
	purger     *purger
	observer   *observer
	readiness  *readiness
}

// New returns a Manager; Run brings it to life. Roles are given what they use, and
// wake each other through channels that have room for one wake-up.
func New(cfg Config) *Manager {
	cfg = cfg.withDefaults()
	db, log := cfg.Store, cfg.Logger
	queue := newDispatchQueue()
	metrics := newMetrics(cfg.Registry, queue.len)
	changes := newChanges(cfg.Ended)
	scanNow, resumeNow, recoverNow := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)

	fleet := &fleet{
		store: db, log: log, heartbeatTimeout: cfg.HeartbeatTimeout, onlyURL: cfg.RunnerURL,
		scan: scanNow, resume: resumeNow, recover: recoverNow, room: queue.nudge, hostUp: cfg.HostUp,
		runners: map[string]*trackedRunner{},
	}
	comparer := &comparer{store: db, log: log, compared: metrics.compared, wake: make(chan struct{}, 1)}
	folds := newFolds(db)
	reporter := &reporter{
		folds: folds,
		store: db, log: log, metrics: metrics, changes: changes, fleet: fleet, compare: comparer.add, resume: resumeNow,
	}
	sender := &sender{
		store: db, log: log, fleet: fleet, reporter: reporter, runners: cfg.Runners,
		tries: cfg.RunnerTries, retryWait: cfg.RunnerRetryWait, timeout: cfg.DeliveryTimeout,
	}
	missing := &missingChains{
		now: db.Now, arrival: cfg.HeartbeatTimeout, handOverTime: cfg.handOverTime(), recover: recoverNow,
	}
	return &Manager{
		cfg: cfg, store: db, log: log, metrics: metrics, changes: changes,
		fleet:   fleet,
		creator: newCreator(db),
		dispatcher: &dispatcher{
			store: db, log: log, fleet: fleet, queue: queue, sender: sender, changes: changes, scanNow: scanNow,
		},
		reporter: reporter,
		resumer: &resumer{
			store: db, log: log, fleet: fleet, sender: sender, changes: changes, metrics: metrics,
			managerID: cfg.ManagerID, every: cfg.ResumeEvery, ttl: cfg.ttl(), claimTimeout: cfg.ClaimTimeout, wake: resumeNow,
		},
		comparer: comparer,
		missing:  missing,
		folds:    folds,
		identities: &identities{
			store: db, log: log, confirmed: map[string]string{}, refused: map[string]string{},
			ask: func(ctx context.Context, url string) (string, error) {
				ctx, cancel := context.WithTimeout(ctx, cfg.StatusTimeout)
				defer cancel()
				return cfg.Runners.Identify(ctx, url)
			},
		},
		recoverer: &recoverer{
			store: db, log: log, reporter: reporter, missing: missing, markDead: fleet.markDead,
			limit: cfg.deathLimit(), wake: recoverNow,
		},
		purger:    &purger{store: db, log: log, keepKeys: cfg.KeepKeys},
		readiness: newReadiness(db, cfg.ManagerID),
		observer:  &observer{store: db, log: log, metrics: metrics, runners: fleet.countStates, check: cfg.checkOptions()},
	}
}

// Run runs the roles of the manager until ctx ends, and returns when all of them
// have ended.
func (m *Manager) Run(ctx context.Context) {
	var roles sync.WaitGroup
	for _, role := range []func(context.Context){
		m.creator.run,     // stores new requests
		m.fleet.run,       // knows the runners
		m.dispatcher.run,  // sends what is PENDING to them
		m.resumer.run,     // sends what is SUSPENDED to them
		m.resumer.cleanUp, // drops old claims, fails what is SUSPENDED for too long
		m.recoverer.run,   // recovers what is RUNNING on dead runners
		m.comparer.run,    // compares what runners hand back with the job log
		m.purger.run,      // deletes old idempotency keys and records of dead runners
		m.observer.run,    // counts, and checks the invariants
	} {
		roles.Go(func() { role(ctx) })
	}
	roles.Wait()
}

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
