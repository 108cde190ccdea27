package run

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/treadle-run/treadle/proto"
)

// How many requests of each kind are remembered.
const (
	rememberEnded   = 1 << 16
	rememberRefused = 1 << 14
	rememberStops   = 1 << 12
)

// chains are the job chains that a runner has, and what it remembers of others. Its
// methods are safe for concurrent use.
type chains struct {
	lease    *lease
	old      *abandoned
	capacity uint // 0 is no limit
	log      *slog.Logger

	mu       sync.Mutex
	open     bool // false before the runner is started and when it shuts down
	draining bool
	byID     map[string]*chainRun // by request id
	ended    *history
	stops    *history // stops of chains that may still be on their way here
	refused  *history // chains that must not be accepted any more, however late they come
}

func newChains(l *lease, old *abandoned, capacity uint, log *slog.Logger) *chains {
	return &chains{
		lease: l, old: old, capacity: capacity, log: log,
		byID:  map[string]*chainRun{},
		ended: newHistory(rememberEnded), stops: newHistory(rememberStops), refused: newHistory(rememberRefused),
	}
}

// setOpen says whether new chains are accepted.
func (s *chains) setOpen(open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = open
}

// accepting reports whether the runner wants new chains.
func (s *chains) accepting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open && !s.draining && s.old.count() == 0
}

// mayAccept reports whether the chain was accepted before under the same epoch; an
// error says why it cannot be accepted now.
func (s *chains) mayAccept(id string, h proto.HandOver) (known bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mayAcceptLocked(id, h)
}

func (s *chains) mayAcceptLocked(id string, h proto.HandOver) (known bool, err error) {
	held, epoch := s.byID[id], h.Epoch
	defer func() {
		if err != nil {
			s.refused.add(id, epoch)
		}
	}()
	switch current := s.lease.current(); {
	case held != nil && held.epoch == epoch, s.ended.has(id, epoch):
		return true, nil
	case s.refused.has(id, epoch):
		return false, proto.Errorf(proto.CodeUnavailable, "this runner has refused the request under epoch %d before", epoch).ForRequest(id)
	case held != nil && held.epoch > epoch:
		return false, proto.Errorf(proto.CodeConflict, "this runner has the request under epoch %d, later than %d", held.epoch, epoch).ForRequest(id)
	case held != nil:
		// What is here is no longer ours. Its jobs must be gone before the new ones start.
		held.command(command{mode: modeDropped, why: fmt.Sprintf("the request was handed over again, under epoch %d", epoch)})
		return false, notAccepting(id)
	case !s.open || s.draining || !s.lease.valid():
		return false, notAccepting(id)
	case s.old.count() > 0:
		return false, proto.Errorf(proto.CodeUnavailable, "this runner %s", ignoredStop(s.old.count())).ForRequest(id)
	case h.RunnerID != "" && h.RunnerID != current:
		return false, proto.Errorf(proto.CodeNotFound, "the request is for runner %s, and this is %s", h.RunnerID, current).ForRequest(id)
	case s.capacity > 0 && uint(len(s.byID)) >= s.capacity:
		return false, proto.Errorf(proto.CodeUnavailable, "this runner is full: it has %d job chains", len(s.byID)).ForRequest(id)
	}
	return false, nil
}

func ignoredStop(jobs int) string {
	return fmt.Sprintf("waits for %d jobs that ignored that they were told to stop", jobs)
}

func notAccepting(id string) error {
	return proto.Errorf(proto.CodeUnavailable, "this runner is not accepting job chains").ForRequest(id)
}

// add accepts a chain that mayAccept said yes to; it reports false if the same chain
// has come twice meanwhile: to refuse it would say that it is not here.
func (s *chains) add(c *chainRun, h proto.HandOver) (added bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, err := s.mayAcceptLocked(c.id, h); known || err != nil {
		return false, err
	}
	s.byID[c.id] = c
	if s.stops.has(c.id, 0) {
		c.command(stopByRequest)
	}
	return true, nil
}

// remove forgets a chain whose loop has ended; it reports whether it was the last.
func (s *chains) remove(c *chainRun) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, c.id)
	s.ended.add(c.id, c.epoch)
	return len(s.byID) == 0
}

// refuse keeps a chain from being accepted later under that epoch.
func (s *chains) refuse(id string, epoch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused.add(id, epoch)
}

// stop stops a chain. One that is not here is not found, but if it was on its way,
// it will stop when it comes.
func (s *chains) stop(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.byID[id]
	if c == nil {
		s.stops.add(id, 0)
		return proto.Errorf(proto.CodeNotFound, "this runner does not have the request").ForRequest(id)
	}
	c.command(stopByRequest)
	return nil
}

// suspendAll suspends all chains in the way that the command says; it returns how
// many there are.
func (s *chains) suspendAll(cmd command) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.suspendAllLocked(cmd)
}

func (s *chains) suspendAllLocked(cmd command) int {
	cmd.mode = modeSuspending
	for _, c := range s.byID {
		c.command(cmd)
	}
	return len(s.byID)
}

// wakeAll tells every loop to look again at what may start.
func (s *chains) wakeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.byID {
		c.wakeUp()
	}
}

// applyHeartbeat does what the answer to a heartbeat asks for.
func (s *chains) applyHeartbeat(a proto.HeartbeatAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range a.Drop {
		if c := s.byID[d.RequestID]; c != nil && c.epoch == d.Epoch {
			c.command(command{mode: modeDropped, why: "the request manager says that the request is no longer this runner's"})
		}
	}
	for _, r := range a.Refuse {
		if held := s.byID[r.RequestID]; held == nil || held.epoch < r.Epoch {
			s.refused.add(r.RequestID, r.Epoch)
		}
	}
	for _, r := range a.Stop {
		if c := s.byID[r.RequestID]; c != nil && c.epoch == r.Epoch {
			c.command(stopByRequest)
		}
	}
	if a.Drain && !s.draining {
		n := s.suspendAllLocked(command{why: "the job runner is draining", patient: true})
		s.log.Info("draining: suspending all job chains", "chains", n)
	}
	s.draining = a.Drain
}

// ready says whether new chains are accepted, and why not.
func (s *chains) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.open:
		return proto.Errorf(proto.CodeUnavailable, "shutting down or not started")
	case s.draining:
		return proto.Errorf(proto.CodeUnavailable, "draining")
	case !s.lease.valid():
		return proto.Errorf(proto.CodeUnavailable, "no request manager answers")
	case s.old.count() > 0:
		return proto.Errorf(proto.CodeUnavailable, "%s", ignoredStop(s.old.count()))
	}
	return nil
}

// held returns the chains that the runner has now, by request id.
func (s *chains) held() []proto.RunningChain {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]proto.RunningChain, 0, len(s.byID))
	for _, c := range s.byID {
		all = append(all, proto.RunningChain{RequestID: c.id, Epoch: c.epoch})
	}
	slices.SortFunc(all, func(a, b proto.RunningChain) int { return strings.Compare(a.RequestID, b.RequestID) })
	return all
}

// load returns how many chains the runner has, and how many jobs run, also those that were abandoned.
func (s *chains) load() (chains, jobs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs = s.old.count()
	for _, c := range s.byID {
		jobs += c.running()
	}
	return len(s.byID), jobs
}

// runningJobs returns the jobs that run now, the oldest first.
func (s *chains) runningJobs() []proto.JobStatus {
	s.mu.Lock()
	runs := make([]*chainRun, 0, len(s.byID))
	for _, c := range s.byID {
		runs = append(runs, c)
	}
	s.mu.Unlock()
	all := s.old.appendStatus([]proto.JobStatus{})
	for _, c := range runs {
		all = c.appendStatus(all)
	}
	slices.SortFunc(all, func(a, b proto.JobStatus) int {
		if a.StartedAt != b.StartedAt {
			return int(min(max(a.StartedAt-b.StartedAt, -1), 1))
		}
		return strings.Compare(a.RequestID+a.JobID, b.RequestID+b.JobID)
	})
	return all
}
