package request

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
)

// fleet is what this manager knows of the runners, from the registry and from
// the heartbeats that came here.
type fleet struct {
	m *Manager

	mu      sync.Mutex
	members map[string]*member // by runner id
}

type member struct {
	runner proto.Runner
	seen   time.Time // by this process' clock
	// assigned counts chains that were sent there since it last said what it has,
	// less those that ended since.
	assigned int
	// sending counts chains that are on their way there now.
	sending int
	// suspect runners did not answer: nothing new goes there before the next
	// heartbeat.
	suspect bool
	// gone runners are dead: another process registered at their address.
	gone bool
}

func newFleet(m *Manager) *fleet {
	return &fleet{m: m, members: map[string]*member{}}
}

// run follows the registry, since heartbeats go to any manager.
func (f *fleet) run(ctx context.Context) {
	every(ctx, time.Second, nil, func(ctx context.Context) {
		if err := f.refresh(ctx); err != nil && ctx.Err() == nil {
			f.m.log.Warn("cannot read the registry of runners", "error", err)
		}
	})
}

func (f *fleet) refresh(ctx context.Context) error {
	begun := time.Now()
	now, err := f.m.store.Now(ctx)
	if err != nil {
		return err
	}
	runners, err := f.m.store.Runners(ctx)
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(runners))
	for _, r := range runners {
		known[r.ID] = true
		f.learn(r, time.Now().Add(-now.Sub(r.HeartbeatAt)))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, x := range f.members {
		// One that was heard of since may have registered after that was read.
		if !known[id] && x.seen.Before(begun) {
			delete(f.members, id)
		}
	}
	return nil
}

// learn takes in what was heard of a runner, and wakes those who wait for one.
func (f *fleet) learn(r proto.Runner, seen time.Time) {
	f.mu.Lock()
	wasThere := f.hasHost(r.Host)
	old := f.members[r.ID]
	isNew := old == nil && time.Since(seen) < f.m.cfg.HeartbeatTimeout
	switch {
	case old == nil:
		for _, x := range f.members {
			x.gone = x.gone || x.runner.URL == r.URL
		}
		f.members[r.ID] = &member{runner: r, seen: seen}
	case seen.After(old.seen.Add(100 * time.Millisecond)):
		// Times read from the registry are off by the time that reading took.
		*old = member{runner: r, seen: seen, sending: old.sending, assigned: old.sending}
	}
	comes := !wasThere && f.hasHost(r.Host)
	f.mu.Unlock()
	if isNew {
		f.m.log.Info("job runner registered", "runner", r.ID, "url", r.URL, "host", r.Host)
		wait.Nudge(f.m.resumer.wake)
		wait.Nudge(f.m.recover.wake)
	}
	if comes && r.Host != "" {
		wait.Nudge(f.m.newHost)
		wait.Nudge(f.m.resumer.wake)
		f.m.cfg.HostUp(r.Host)
	}
	f.m.queue.look()
}

// pick chooses the live runner with most room, of those on the host or, for "", of
// all, and counts a chain as on its way there, until sent is called; false if there
// is none.
func (f *fleet) pick(host string) (proto.Runner, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var best *member
	bestLoad := 0.0
	for _, x := range f.members {
		if host != "" && x.runner.Host != host {
			continue
		}
		load, ok := f.load(x)
		if !ok {
			continue
		}
		if best == nil || load < bestLoad || load == bestLoad && rand.IntN(2) == 0 {
			best, bestLoad = x, load
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
func (f *fleet) load(x *member) (float64, bool) {
	if !f.takes(x) || x.sending >= maxDeliveries {
		return 0, false
	}
	held := len(x.runner.Running) + x.assigned
	if x.runner.Capacity == 0 {
		return float64(held), true
	}
	return float64(held) / float64(x.runner.Capacity), held < int(x.runner.Capacity)
}

// hostsWithRoom returns the hosts of runners that have room.
func (f *fleet) hostsWithRoom() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	hosts := map[string]bool{}
	for _, x := range f.members {
		if _, ok := f.load(x); ok && x.runner.Host != "" {
			hosts[x.runner.Host] = true
		}
	}
	return slices.Sorted(maps.Keys(hosts))
}

// isThere reports whether a runner on the host takes chains, be it full or slow to
// answer.
func (f *fleet) isThere(host string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hasHost(host)
}

func (f *fleet) hasHost(host string) bool {
	for _, x := range f.members {
		if x.runner.Host == host && f.lives(x) {
			return true
		}
	}
	return false
}

// sent takes in that chains which pick counted are no longer on their way: the
// runner has them, or it does not.
func (f *fleet) sent(id string, chains int, has bool) {
	f.mu.Lock()
	if x := f.members[id]; x != nil {
		x.sending -= chains
		if !has {
			x.assigned -= chains
		}
	}
	f.mu.Unlock()
	f.m.queue.look()
}

// isGone reports whether a runner is dead: another process is at its address, or
// it was given up.
func (f *fleet) isGone(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.members[id]
	return x == nil || x.gone
}

func (f *fleet) takes(x *member) bool { return f.lives(x) && !x.suspect }

// lives reports whether a runner was heard of and wants chains.
func (f *fleet) lives(x *member) bool {
	return time.Since(x.seen) < f.m.cfg.HeartbeatTimeout && !x.runner.Draining && !x.gone &&
		(f.m.cfg.RunnerURL == "" || f.m.cfg.RunnerURL == x.runner.URL)
}

// any reports whether some runner takes chains, be it full.
func (f *fleet) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.members {
		if f.takes(x) {
			return true
		}
	}
	return false
}

// release takes in that a runner has so many chains less.
func (f *fleet) release(id string, chains int) {
	f.mu.Lock()
	if x := f.members[id]; x != nil {
		x.assigned -= chains
	}
	f.mu.Unlock()
	f.m.queue.look()
}

// suspect keeps new chains from a runner until it is heard of again.
func (f *fleet) suspect(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.members[id]; x != nil {
		x.suspect = true
	}
}

// bury takes in that a runner is dead.
func (f *fleet) bury(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.members[id]; x != nil {
		x.gone = true
	}
}

// urls returns the base URLs of runners by id, dead ones included.
func (f *fleet) urls() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	urls := make(map[string]string, len(f.members))
	for id, x := range f.members {
		urls[id] = x.runner.URL
	}
	return urls
}

// Runners returns all runners of the registry.
func (m *Manager) Runners(ctx context.Context) ([]proto.Runner, error) {
	runners, err := m.store.Runners(ctx)
	return runners, storeError(err, "")
}

// HostUp reports whether a runner on the host takes chains, be it full.
func (m *Manager) HostUp(host string) bool { return m.fleet.isThere(host) }

// Drain asks a runner, by id or URL, to hand in what it has and to take nothing
// new, or to take chains again. It obeys with its next heartbeat.
func (m *Manager) Drain(ctx context.Context, runner string, drain bool) error {
	err := storeError(m.store.RequestDrain(ctx, runner, drain), "")
	if proto.ErrorCode(err) == proto.CodeNotFound {
		return proto.Errorf(proto.CodeNotFound, "no job runner with the id or URL %q", runner)
	}
	return err
}

// Heartbeat takes in that a runner lives and what it holds, and answers with
// its lease and with what it should stop or drop.
func (m *Manager) Heartbeat(ctx context.Context, r proto.Runner) (proto.HeartbeatAnswer, error) {
	answer := proto.HeartbeatAnswer{Lease: proto.Duration(m.cfg.Lease)}
	drain, err := m.store.Heartbeat(ctx, r)
	if err != nil {
		return answer, storeError(err, "")
	}
	answer.Drain = drain
	held, err := m.store.HeldBy(ctx, r.ID)
	if err != nil {
		return answer, storeError(err, "")
	}
	r.Draining = r.Draining || drain // it will, once it has the answer
	m.fleet.learn(r, time.Now())
	byID := make(map[string]int, len(held))
	for i, h := range held {
		byID[h.RequestID] = i
		if h.StopRequested {
			answer.Stop = append(answer.Stop, proto.RunningChain{RequestID: h.RequestID, Epoch: h.Epoch})
		}
	}
	has := make(map[string]bool, len(r.Running))
	for _, c := range r.Running {
		i, ok := byID[c.RequestID]
		if !ok || held[i].Epoch > c.Epoch {
			answer.Drop = append(answer.Drop, c)
			continue
		}
		has[c.RequestID] = true
	}
	answer.Refuse, err = m.recover.compare(ctx, r, held, has)
	return answer, storeError(err, "")
}
