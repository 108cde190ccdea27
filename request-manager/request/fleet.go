package request

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// refreshEvery is how often the registry is read: heartbeats go to any manager.
const refreshEvery = time.Second

// fleet is what this manager knows of the runners, from the registry and from
// the heartbeats that it received itself.
type fleet struct {
	store            *store.Store
	log              *slog.Logger
	heartbeatTimeout time.Duration // a runner not seen for so long gets nothing new
	onlyURL          string        // of the one runner to use; "" is any

	// Whom a runner that is new or has room wakes.
	scan, resume, recover chan<- struct{}
	room                  func()            // called when a runner may have room
	hostUp                func(host string) // called when a host has a runner that had none

	mu      sync.Mutex
	runners map[string]*trackedRunner // by runner id
}

// trackedRunner is a runner and what this manager has sent to it.
type trackedRunner struct {
	runner proto.Runner
	seen   time.Time // by this process' clock
	// assigned counts chains that were sent there since its last heartbeat, less those
	// that ended since.
	assigned int
	// sending counts chains that are on their way there now.
	sending int
	// suspect runners did not answer: nothing new goes there before the next
	// heartbeat.
	suspect bool
	// dead runners were replaced by another process at their address, or were
	// declared dead.
	dead bool
}

func (f *fleet) run(ctx context.Context) {
	every(ctx, refreshEvery, nil, func(ctx context.Context) {
		if err := f.refresh(ctx); err != nil && ctx.Err() == nil {
			f.log.Warn("cannot read the registry of job runners", "error", err)
		}
	})
}

func (f *fleet) refresh(ctx context.Context) error {
	readAt := time.Now()
	now, err := f.store.Now(ctx)
	if err != nil {
		return err
	}
	runners, err := f.store.Runners(ctx)
	if err != nil {
		return err
	}
	registered := make(map[string]bool, len(runners))
	for _, r := range runners {
		registered[r.ID] = true
		f.record(r, time.Now().Add(-now.Sub(r.HeartbeatAt)))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, t := range f.runners {
		// One that was seen since then may have registered after the registry was read.
		if !registered[id] && t.seen.Before(readAt) {
			delete(f.runners, id)
		}
	}
	return nil
}

// record records a heartbeat of a runner, and wakes those who wait for one.
func (f *fleet) record(r proto.Runner, seen time.Time) {
	f.mu.Lock()
	hostWasUp := f.isUp(r.Host)
	old := f.runners[r.ID]
	isNew := old == nil && time.Since(seen) < f.heartbeatTimeout
	switch {
	case old == nil:
		for _, t := range f.runners {
			t.dead = t.dead || t.runner.URL == r.URL
		}
		f.runners[r.ID] = &trackedRunner{runner: r, seen: seen}
	case seen.After(old.seen.Add(100 * time.Millisecond)):
		// Times read from the registry are off by the time that reading took.
		*old = trackedRunner{runner: r, seen: seen, sending: old.sending, assigned: old.sending}
	}
	hostCameUp := !hostWasUp && f.isUp(r.Host)
	f.mu.Unlock()
	if isNew {
		f.log.Info("job runner registered", "runner", r.ID, "url", r.URL, "host", r.Host)
		wait.Nudge(f.resume)
		wait.Nudge(f.recover)
	}
	if hostCameUp && r.Host != "" {
		wait.Nudge(f.scan)
		wait.Nudge(f.resume)
		f.hostUp(r.Host)
	}
	f.room()
}

// pick chooses the runner with most room, of those on the host or, for "", of all,
// and counts a chain as on its way there, until sent is called; false if there is
// none.
func (f *fleet) pick(host string) (proto.Runner, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var best *trackedRunner
	bestLoad := 0.0
	for _, t := range f.runners {
		if host != "" && t.runner.Host != host {
			continue
		}
		load, ok := f.load(t)
		if !ok {
			continue
		}
		if best == nil || load < bestLoad || load == bestLoad && rand.IntN(2) == 0 {
			best, bestLoad = t, load
		}
	}
	if best == nil {
		return proto.Runner{}, false
	}
	best.assigned++
	best.sending++
	return best.runner, true
}

// load says how much a runner has; false if it has no room.
func (f *fleet) load(t *trackedRunner) (float64, bool) {
	if !f.accepts(t) || t.suspect || t.sending >= maxDeliveries {
		return 0, false
	}
	held := len(t.runner.Running) + t.assigned
	if t.runner.Capacity == 0 {
		return float64(held), true
	}
	return float64(held) / float64(t.runner.Capacity), held < int(t.runner.Capacity)
}

// accepts reports whether a runner was seen of late and accepts job chains, be it
// full or slow to answer.
func (f *fleet) accepts(t *trackedRunner) bool {
	return time.Since(t.seen) < f.heartbeatTimeout && !t.runner.Draining && !t.dead &&
		(f.onlyURL == "" || f.onlyURL == t.runner.URL)
}

// hostsWithRoom returns the hosts of runners that have room.
func (f *fleet) hostsWithRoom() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	hosts := map[string]bool{}
	for _, t := range f.runners {
		if _, ok := f.load(t); ok && t.runner.Host != "" {
			hosts[t.runner.Host] = true
		}
	}
	return slices.Sorted(maps.Keys(hosts))
}

// hasRunner reports whether a runner on the host accepts job chains, be it full or
// slow to answer.
func (f *fleet) hasRunner(host string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.isUp(host)
}

func (f *fleet) isUp(host string) bool {
	for _, t := range f.runners {
		if t.runner.Host == host && f.accepts(t) {
			return true
		}
	}
	return false
}

// any reports whether some runner accepts job chains and answers, be it full.
func (f *fleet) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.runners {
		if f.accepts(t) && !t.suspect {
			return true
		}
	}
	return false
}

// sent records that chains which pick counted are no longer on their way: the
// runner has them, or it does not.
func (f *fleet) sent(id string, chains int, has bool) {
	f.update(id, func(t *trackedRunner) {
		t.sending -= chains
		if !has {
			t.assigned -= chains
		}
	})
	f.room()
}

// release records that a runner has so many chains less.
func (f *fleet) release(id string, chains int) {
	f.update(id, func(t *trackedRunner) { t.assigned -= chains })
	f.room()
}

// suspect keeps new chains from a runner until it is seen again.
func (f *fleet) suspect(id string) {
	f.update(id, func(t *trackedRunner) { t.suspect = true })
}

// markDead records that a runner is dead.
func (f *fleet) markDead(id string) {
	f.update(id, func(t *trackedRunner) { t.dead = true })
}

// update changes what is known of a runner, if it is known.
func (f *fleet) update(id string, change func(*trackedRunner)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.runners[id]; t != nil {
		change(t)
	}
}

// isDead reports whether a runner is dead: another process is at its address, or
// it was declared dead.
func (f *fleet) isDead(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.runners[id]
	return t == nil || t.dead
}

// urls returns the base URLs of runners by id, dead ones included.
func (f *fleet) urls() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	urls := make(map[string]string, len(f.runners))
	for id, t := range f.runners {
		urls[id] = t.runner.URL
	}
	return urls
}

// countStates counts the runners by their state in the metrics.
func (f *fleet) countStates() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	states := map[string]int{runnerUp: 0, runnerDraining: 0, runnerSilent: 0}
	for _, t := range f.runners {
		switch {
		case time.Since(t.seen) >= f.heartbeatTimeout:
			states[runnerSilent]++
		case t.runner.Draining:
			states[runnerDraining]++
		default:
			states[runnerUp]++
		}
	}
	return states
}
