package run

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treadle-run/treadle/chain"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// RequestManager is where a runner reports to.
type RequestManager interface {
	// Report stores the items of the report. An error says that it is not known
	// whether any of them was stored.
	Report(ctx context.Context, r proto.Report) (proto.ReportAnswer, error)
	// Heartbeat extends the lease. It is the only call that does: by heartbeats alone
	// the Request Managers tell a runner that lives from one that is lost.
	Heartbeat(ctx context.Context, r proto.Runner) (proto.HeartbeatAnswer, error)
}

// Config is what a Runner needs.
type Config struct {
	// Self is how the runner registers: ID, URL, Host, PID, Version, Labels, Capacity.
	Self     proto.Runner
	Registry *job.Registry
	RM       RequestManager
	Logger   *slog.Logger
	// Leased, if not nil, is told until when jobs may run, each time that an RM
	// answers. It must not block.
	Leased func(until time.Time)
	// JobContext, if not nil, makes the context that those of all jobs come from.
	JobContext func(context.Context) context.Context

	HeartbeatEvery  time.Duration // default 2 s
	ShutdownTimeout time.Duration // to hand everything in; default 30 s
	// StopTimeout is for a job to end after it was told to, because its request is
	// stopped or the runner ends; default 15 s.
	StopTimeout   time.Duration
	MaxDataSize   int   // bytes of the job data that one job sets; default 1 MiB
	MaxUnreported int64 // bytes of entries that wait before jobs wait; default 256 MiB
}

func (c *Config) setDefaults() {
	if c.HeartbeatEvery == 0 {
		c.HeartbeatEvery = 2 * time.Second
	}
	if c.ShutdownTimeout == 0 {
		c.ShutdownTimeout = 30 * time.Second
	}
	if c.StopTimeout == 0 {
		c.StopTimeout = 15 * time.Second
	}
	if c.MaxDataSize == 0 {
		c.MaxDataSize = 1 << 20
	}
	if c.MaxUnreported == 0 {
		c.MaxUnreported = 256 << 20
	}
}

// Runner runs job chains. Its methods are safe for concurrent use.
type Runner struct {
	cfg       Config
	log       *slog.Logger
	reporter  *reporter
	heartbeat *heartbeat

	mu        sync.Mutex
	chains    map[string]*chainRun // by request id
	ended     *endedRing
	stops     *endedRing // stops of chains that may still be on their way here
	refused   *endedRing // chains that must not be taken any more, however late they come
	accepting bool
	draining  bool
	loops     sync.WaitGroup
	// ctx is the life of all chain loops: "do the work". Accepting is the other one.
	ctx    context.Context
	cancel context.CancelFunc
}

// New returns a Runner that takes chains as soon as Run has registered it.
func New(cfg Config) *Runner {
	cfg.setDefaults()
	base := context.Background()
	if cfg.JobContext != nil {
		base = cfg.JobContext(base)
	}
	ctx, cancel := context.WithCancel(base)
	r := &Runner{
		cfg:    cfg,
		log:    cfg.Logger.With("runner", cfg.Self.ID),
		chains: map[string]*chainRun{},
		ended:  newEndedRing(1 << 16),
		stops:  newEndedRing(1 << 12),

		refused: newEndedRing(1 << 14),
		ctx:     ctx,
		cancel:  cancel,
	}
	r.heartbeat = newHeartbeat(r, cfg.HeartbeatEvery)
	r.reporter = newReporter(cfg.RM, r.heartbeat.id, cfg.MaxUnreported, r.log)
	r.reporter.room = r.lookAll
	return r
}

// Run registers the runner, reports and beats until ctx ends, then hands
// everything in: chains are suspended, their jobs told to stop. The error says
// what could not be handed in within the shutdown timeout.
func (r *Runner) Run(ctx context.Context) error {
	var roles sync.WaitGroup
	roles.Go(func() { r.reporter.run(r.ctx) })
	roles.Go(func() { r.heartbeat.run(r.ctx) })
	r.mu.Lock()
	r.accepting = true
	r.mu.Unlock()

	<-ctx.Done()
	err := r.shutDown()
	// The order: loops are gone, so that the reporter has nothing left to send, and
	// the heartbeat kept the lease until then.
	r.cancel()
	roles.Wait()
	return err
}

func (r *Runner) shutDown() error {
	r.mu.Lock()
	r.accepting = false
	r.mu.Unlock()
	r.heartbeat.now() // so that no RM sends anything new
	r.log.Info("shutting down: suspending all job chains", "chains", r.suspendAll("the job runner is shutting down", false, errStopped))

	done := make(chan struct{})
	go func() {
		r.loops.Wait()
		close(done)
	}()
	deadline := time.NewTimer(r.cfg.ShutdownTimeout)
	defer deadline.Stop()
	select {
	case <-done:
		return nil
	case <-deadline.C:
	}
	left := r.held()
	r.cancel()
	<-done
	if len(left) == 0 {
		return nil
	}
	ids := make([]string, 0, len(left))
	for _, c := range left {
		ids = append(ids, c.RequestID)
	}
	return fmt.Errorf("%d job chains were not handed in within %s, they will be recovered: %s",
		len(ids), r.cfg.ShutdownTimeout, strings.Join(ids[:min(len(ids), 20)], ", "))
}

// suspendAll suspends all chains. The contexts of their jobs end with the cause.
func (r *Runner) suspendAll(why string, patient bool, cause error) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.chains {
		c.command(command{mode: modeSuspending, why: why, patient: patient, cause: cause})
	}
	return len(r.chains)
}

// lookAll tells every chain to look again at what may start.
func (r *Runner) lookAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.chains {
		c.look()
	}
}

// Start takes a new chain. Taking the chain of the same epoch again is harmless
// and starts nothing twice, also if it has ended here since. A chain that was
// refused once is refused for good under that epoch: its RM has gone on without
// this runner.
func (r *Runner) Start(ctx context.Context, h proto.HandOver, jc *proto.JobChain) error {
	return r.take(ctx, jc.RequestID, h, func() (*chain.Chain, error) { return chain.New(jc) }, jc.Secrets)
}

// Resume goes on with a suspended job chain; like Start.
func (r *Runner) Resume(ctx context.Context, h proto.HandOver, sjc *proto.SuspendedJobChain) error {
	if sjc.JobChain == nil {
		return proto.Errorf(proto.CodeInvalid, "suspended job chain: no jobChain").ForRequest(sjc.RequestID)
	}
	return r.take(ctx, sjc.RequestID, h, func() (*chain.Chain, error) { return chain.Resume(sjc) }, sjc.JobChain.Secrets)
}

func (r *Runner) take(ctx context.Context, id string, h proto.HandOver, build func() (*chain.Chain, error), secrets []string) error {
	r.heartbeat.awaitFirst(ctx)
	if taken, err := r.mayTake(id, h); taken || err != nil {
		return err
	}
	c, err := build() // may take long
	if err != nil {
		r.refuse(id, h.Epoch)
		return (&proto.Error{Code: proto.CodeInvalid, Message: "job chain is not valid: " + err.Error()}).ForRequest(id)
	}
	run := newChainRun(r, id, h.Epoch, c, secrets)
	r.mu.Lock()
	defer r.mu.Unlock()
	// The same chain may have come twice meanwhile: to refuse it would say that it is
	// not here.
	if taken, err := r.mayTakeLocked(id, h); taken || err != nil {
		return err
	}
	r.chains[id] = run
	if r.stops.has(id, 0) {
		run.command(command{mode: modeStopping, why: "stopped by request"})
	}
	r.loops.Go(func() {
		run.loop(r.ctx)
		r.mu.Lock()
		delete(r.chains, id)
		r.ended.add(id, h.Epoch)
		last := len(r.chains) == 0
		r.mu.Unlock()
		if last && !r.heartbeat.leased() {
			r.heartbeat.now() // to register again
		}
	})
	return nil
}

// mayTake reports whether the chain was taken before under the same epoch; an
// error says why it cannot be taken now.
func (r *Runner) mayTake(id string, h proto.HandOver) (taken bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mayTakeLocked(id, h)
}

func (r *Runner) mayTakeLocked(id string, h proto.HandOver) (taken bool, err error) {
	held, epoch := r.chains[id], h.Epoch
	defer func() {
		if err != nil {
			r.refused.add(id, epoch)
		}
	}()
	switch {
	case held != nil && held.epoch == epoch, r.ended.has(id, epoch):
		return true, nil
	case r.refused.has(id, epoch):
		return false, proto.Errorf(proto.CodeUnavailable, "this runner has refused the request under epoch %d before", epoch).ForRequest(id)
	case held != nil && held.epoch > epoch:
		return false, proto.Errorf(proto.CodeConflict, "this runner has the request under epoch %d, later than %d", held.epoch, epoch).ForRequest(id)
	case held != nil:
		// What is here is no longer ours. Its jobs must be gone before the new ones start.
		held.command(command{mode: modeDropped, why: fmt.Sprintf("epoch %d came", epoch)})
		return false, notTaking(id)
	case !r.accepting || r.draining || !r.heartbeat.leased():
		return false, notTaking(id)
	case h.RunnerID != "" && h.RunnerID != r.heartbeat.id():
		return false, proto.Errorf(proto.CodeNotFound, "the request is for runner %s, and this is %s", h.RunnerID, r.heartbeat.id()).ForRequest(id)
	case r.cfg.Self.Capacity > 0 && uint(len(r.chains)) >= r.cfg.Self.Capacity:
		return false, proto.Errorf(proto.CodeUnavailable, "this runner is full: it has %d job chains", len(r.chains)).ForRequest(id)
	}
	return false, nil
}

// refuse keeps a chain from being taken later under that epoch.
func (r *Runner) refuse(id string, epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused.add(id, epoch)
}

func notTaking(id string) error {
	return proto.Errorf(proto.CodeUnavailable, "this runner takes no job chains now").ForRequest(id)
}

// Stop stops the chain of the request: nothing of it starts any more and the
// jobs that run are told to stop. It does not wait for them. A chain that is not
// here is not found, but if it was on its way, it will stop when it comes.
func (r *Runner) Stop(_ context.Context, requestID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.chains[requestID]
	if c == nil {
		r.stops.add(requestID, 0)
		return proto.Errorf(proto.CodeNotFound, "this runner does not have the request").ForRequest(requestID)
	}
	c.command(command{mode: modeStopping, why: "stopped by request"})
	return nil
}

// Running returns what runs now, oldest first.
func (r *Runner) Running() []proto.JobStatus {
	r.mu.Lock()
	chains := make([]*chainRun, 0, len(r.chains))
	for _, c := range r.chains {
		chains = append(chains, c)
	}
	r.mu.Unlock()
	all := []proto.JobStatus{}
	for _, c := range chains {
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

// Ready says whether the runner takes chains, and why not.
func (r *Runner) Ready(context.Context) error {
	leased := r.heartbeat.leased()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.accepting:
		return proto.Errorf(proto.CodeUnavailable, "shutting down or not started")
	case r.draining:
		return proto.Errorf(proto.CodeUnavailable, "draining")
	case !leased:
		return proto.Errorf(proto.CodeUnavailable, "no request manager answers")
	}
	return nil
}

// held returns the chains that the runner has now.
func (r *Runner) held() []proto.RunningChain {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]proto.RunningChain, 0, len(r.chains))
	for _, c := range r.chains {
		all = append(all, proto.RunningChain{RequestID: c.id, Epoch: c.epoch})
	}
	slices.SortFunc(all, func(a, b proto.RunningChain) int { return strings.Compare(a.RequestID, b.RequestID) })
	return all
}

// load returns how many chains the runner has, and how many jobs run.
func (r *Runner) load() (chains, jobs int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.chains {
		jobs += c.alive()
	}
	return len(r.chains), jobs
}

// self is the runner as it registers now, without its ID.
func (r *Runner) self() proto.Runner {
	me := r.cfg.Self
	me.Running = r.held()
	r.mu.Lock()
	defer r.mu.Unlock()
	me.Draining = r.draining || !r.accepting
	return me
}

// obey does what the answer to a heartbeat asks for.
func (r *Runner) obey(a proto.HeartbeatAnswer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range a.Drop {
		if c := r.chains[d.RequestID]; c != nil && c.epoch == d.Epoch {
			c.command(command{mode: modeDropped, why: "the request manager says that it is no longer ours"})
		}
	}
	for _, c := range a.Refuse {
		if held := r.chains[c.RequestID]; held == nil || held.epoch < c.Epoch {
			r.refused.add(c.RequestID, c.Epoch)
		}
	}
	for _, s := range a.Stop {
		if c := r.chains[s.RequestID]; c != nil && c.epoch == s.Epoch {
			c.command(command{mode: modeStopping, why: "stopped by request"})
		}
	}
	if a.Drain && !r.draining {
		r.log.Info("draining: suspending all job chains", "chains", len(r.chains))
		for _, c := range r.chains {
			c.command(command{mode: modeSuspending, why: "the job runner is draining", patient: true})
		}
	}
	r.draining = a.Drain
}

// endedRing remembers the chains that ended here last, so that a chain that is
// sent again because the first answer was lost does not start again. It is not
// safe for concurrent use.
type endedRing struct {
	epochs map[string]uint64
	ids    []string
	next   int
}

func newEndedRing(size int) *endedRing {
	return &endedRing{epochs: map[string]uint64{}, ids: make([]string, size)}
}

func (e *endedRing) add(id string, epoch uint64) {
	if _, ok := e.epochs[id]; !ok {
		delete(e.epochs, e.ids[e.next])
		e.ids[e.next] = id
		e.next = (e.next + 1) % len(e.ids)
	}
	e.epochs[id] = epoch
}

// has reports whether the chain ended here under this epoch or a later one.
func (e *endedRing) has(id string, epoch uint64) bool {
	last, ok := e.epochs[id]
	return ok && last >= epoch
}
