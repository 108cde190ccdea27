package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	ShutdownTimeout time.Duration // to hand everything back; default 30 s
	// StopTimeout is for a job to end after it was told to, because its request is
	// stopped or the runner ends; default 15 s.
	StopTimeout time.Duration
	// AbandonLimit is for how long a job may go on after that before the runner ends
	// itself; default 10 min.
	AbandonLimit  time.Duration
	MaxDataSize   int   // bytes of the job data that one job sets; default 1 MiB
	MaxUnreported int64 // bytes of entries that wait before jobs wait; default 256 MiB
}

func (c Config) withDefaults() Config {
	c.HeartbeatEvery = cmp.Or(c.HeartbeatEvery, 2*time.Second)
	c.ShutdownTimeout = cmp.Or(c.ShutdownTimeout, 30*time.Second)
	c.StopTimeout = cmp.Or(c.StopTimeout, 15*time.Second)
	c.AbandonLimit = cmp.Or(c.AbandonLimit, 10*time.Minute)
	c.MaxDataSize = cmp.Or(c.MaxDataSize, proto.DefaultDataSize)
	c.MaxUnreported = cmp.Or(c.MaxUnreported, 256<<20)
	return c
}

// Runner runs job chains. Its methods are safe for concurrent use.
type Runner struct {
	log             *slog.Logger
	env             *env
	chains          *chains
	heartbeat       *heartbeat
	shutdownTimeout time.Duration

	loops sync.WaitGroup
	// ctx is the life of all chain loops: "do the work". Accepting is the other one.
	ctx    context.Context
	cancel context.CancelFunc
}

// New returns a Runner that accepts chains as soon as Run has registered it.
func New(cfg Config) *Runner {
	cfg = cfg.withDefaults()
	base := context.Background()
	if cfg.JobContext != nil {
		base = cfg.JobContext(base)
	}
	log := cfg.Logger.With("runner", cfg.Self.ID)
	lease := newLease(cfg.Self.ID, log)
	old := newAbandoned(cfg.AbandonLimit, log)
	chains := newChains(lease, old, cfg.Self.Capacity, log)
	r := &Runner{
		log: log,
		env: &env{
			registry: cfg.Registry, lease: lease, abandoned: old, stopTimeout: cfg.StopTimeout, maxDataSize: cfg.MaxDataSize, log: log,
			reporter: newReporter(cfg.RM, lease.current, chains.wakeAll, cfg.MaxUnreported, log),
		},
		chains:          chains,
		heartbeat:       newHeartbeat(cfg, lease, chains, log),
		shutdownTimeout: cfg.ShutdownTimeout,
	}
	r.ctx, r.cancel = context.WithCancel(base)
	return r
}

// Run registers the runner, sends reports and heartbeats until ctx ends, then hands
// everything back: chains are suspended, their jobs told to stop. The error says
// what could not be handed back within the shutdown timeout.
func (r *Runner) Run(ctx context.Context) error {
	var roles sync.WaitGroup
	roles.Go(func() { r.env.reporter.run(r.ctx) })
	roles.Go(func() { r.heartbeat.run(r.ctx) })
	r.chains.setOpen(true)

	var ignored error
	select {
	case <-ctx.Done():
	case ignored = <-r.env.abandoned.over:
		// Nothing but the end of the process ends such a job.
		ignored = fmt.Errorf("the job runner ends itself: %w", ignored)
		r.log.Error("ending the job runner, for nothing else ends a job that ignores its stop", "error", ignored)
	}
	err := errors.Join(ignored, r.shutDown())
	// The order: loops are gone, so that the reporter has nothing left to send, and
	// the heartbeat kept the lease until then.
	r.cancel()
	roles.Wait()
	return err
}

func (r *Runner) shutDown() error {
	r.chains.setOpen(false)
	r.env.hurry.Store(true)
	r.heartbeat.sendNow() // so that no RM sends anything new
	n := r.chains.suspendAll(command{why: "the job runner is shutting down"})
	r.log.Info("shutting down: suspending all job chains", "chains", n)

	done := make(chan struct{})
	go func() {
		r.loops.Wait()
		close(done)
	}()
	deadline := time.NewTimer(r.shutdownTimeout)
	defer deadline.Stop()
	select {
	case <-done:
		return nil
	case <-deadline.C:
	}
	left := r.chains.held()
	r.cancel()
	<-done
	if len(left) == 0 {
		return nil
	}
	ids := make([]string, 0, len(left))
	for _, c := range left {
		ids = append(ids, c.RequestID)
	}
	return fmt.Errorf("%d job chains were not handed back within %s, they will be recovered: %s",
		len(ids), r.shutdownTimeout, strings.Join(ids[:min(len(ids), 20)], ", "))
}

// Start accepts a new chain. To accept the chain of the same epoch again is harmless
// and starts nothing twice, also if it has ended here since. A chain that was
// refused once is refused for good under that epoch: its RM has gone on without
// this runner.
func (r *Runner) Start(ctx context.Context, h proto.HandOver, jc *proto.JobChain) error {
	return r.accept(ctx, jc.RequestID, h, func() (*chain.Chain, error) { return chain.New(jc) }, jc.Secrets)
}

// Resume goes on with a suspended job chain; like Start.
func (r *Runner) Resume(ctx context.Context, h proto.HandOver, sjc *proto.SuspendedJobChain) error {
	if sjc.JobChain == nil {
		return proto.Errorf(proto.CodeInvalid, "suspended job chain: no jobChain").ForRequest(sjc.RequestID)
	}
	return r.accept(ctx, sjc.RequestID, h, func() (*chain.Chain, error) { return chain.Resume(sjc) }, sjc.JobChain.Secrets)
}

func (r *Runner) accept(ctx context.Context, id string, h proto.HandOver, build func() (*chain.Chain, error), secrets []string) error {
	r.env.lease.awaitFirst(ctx)
	if known, err := r.chains.mayAccept(id, h); known || err != nil {
		return err
	}
	built, err := build() // may take long
	if err != nil {
		r.chains.refuse(id, h.Epoch)
		return (&proto.Error{Code: proto.CodeInvalid, Message: "job chain is not valid: " + err.Error()}).ForRequest(id)
	}
	c := newChainRun(r.env, id, h.Epoch, built, secrets)
	added, err := r.chains.add(c, h)
	if !added || err != nil {
		return err
	}
	r.loops.Go(func() {
		c.loop(r.ctx)
		if last := r.chains.remove(c); last && !r.env.lease.valid() {
			r.heartbeat.sendNow() // to register again
		}
	})
	return nil
}

// Stop stops the chain of the request: nothing of it starts any more and the
// jobs that run are told to stop. It does not wait for them. A chain that is not
// here is not found, but if it was on its way, it will stop when it comes.
func (r *Runner) Stop(_ context.Context, requestID string) error { return r.chains.stop(requestID) }

// ID returns the ID that the runner is registered under, or about to be.
func (r *Runner) ID() string { return r.env.lease.current() }

// Running returns what runs now, oldest first.
func (r *Runner) Running() []proto.JobStatus { return r.chains.runningJobs() }

// Ready says whether the runner accepts chains, and why not.
func (r *Runner) Ready(context.Context) error { return r.chains.ready() }
