package run

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/treadle-run/treadle/chain"
	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/proto"
)

// mode is what a chain's loop is up to. It only ever grows.
type mode uint8

const (
	modeRunning    mode = iota
	modeSuspending      // nothing starts; once nothing runs, the chain is handed in
	modeStopping        // nothing starts; once nothing runs, the chain is STOPPED
	modeDropped         // it is no longer ours: jobs end, nothing is reported
)

// command asks a loop to go on to a mode.
type command struct {
	mode mode
	why  string
	// patient commands wait for jobs as long as these take: the process lives on, so
	// that a job that was given up would run beside its next try elsewhere.
	patient bool
	cause   error // that contexts of jobs end with; nil is errStopped
}

// ack says what became of what the loop gave to the reporter, since it looked last.
type ack struct {
	entries int    // how many entries became durable
	end     bool   // the end of the chain is durable
	refused string // why the chain is not ours any more; "" if it is
}

// The causes that a job's context ends with.
var (
	errStopped    = errors.New("stopped")
	errJobTimeout = errors.New("timed out")
)

// chainRun runs one chain. The loop owns all fields but those below mu.
type chainRun struct {
	r       *Runner
	id      string
	epoch   uint64
	c       *chain.Chain
	secrets mask.Masker
	log     *slog.Logger

	// kick tells the loop to look again: at wanted, at acks, or at what may start.
	kick chan struct{}
	// results has room for every job of the chain, so that no job ever waits to
	// tell that it ended, not even one that was given up.
	results chan *tryResult

	mode    mode
	why     string // of the mode
	patient bool   // jobs are not given up
	nextSeq uint64 // of the next entry
	// reported are entries on their way; the first applied of them stand in the
	// chain already.
	reported []*proto.JobLog
	applied  int
	ending   bool // the end is on its way
	giveUp   *time.Timer
	wake     *time.Timer
	asleep   sleepers
	alarm    *time.Timer // for the first of them

	mu     sync.Mutex
	live   map[string]*try // by job id
	wanted command         // the mode to go on to
	acks   ack

	refused bool // the reporter's, under its lock: nothing more is reported
}

func newChainRun(r *Runner, id string, epoch uint64, c *chain.Chain, secrets []string) *chainRun {
	return &chainRun{
		r:       r,
		id:      id,
		epoch:   epoch,
		c:       c,
		secrets: mask.New(secrets),
		log:     r.log.With("request", id, "epoch", epoch),
		kick:    make(chan struct{}, 1),
		results: make(chan *tryResult, c.TotalJobs()),
		nextSeq: c.Entries(),
		live:    map[string]*try{},
	}
}

// command asks the loop to go on to a mode; it never blocks and is never lost.
func (c *chainRun) command(cmd command) {
	c.mu.Lock()
	// A shutdown goes on to the mode of a drain, but has no time to be patient.
	if cmd.mode > c.wanted.mode || cmd.mode == c.wanted.mode && c.wanted.patient && !cmd.patient {
		c.wanted = cmd
	}
	c.mu.Unlock()
	c.look()
}

// acknowledge tells the loop what became of an item; it never blocks.
func (c *chainRun) acknowledge(a ack) {
	c.mu.Lock()
	c.acks.entries += a.entries
	c.acks.end = c.acks.end || a.end
	if c.acks.refused == "" {
		c.acks.refused = a.refused
	}
	c.mu.Unlock()
	c.look()
}

// look asks the loop to look again at what may start.
func (c *chainRun) look() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// loop runs the chain to its end, or until ctx ends: then jobs are told to
// stop and nothing more is reported.
func (c *chainRun) loop(ctx context.Context) {
	jobs, stopJobs := context.WithCancelCause(ctx)
	defer stopJobs(errStopped)
	c.giveUp, c.wake, c.alarm = stoppedTimer(), stoppedTimer(), stoppedTimer()
	defer c.giveUp.Stop()
	defer c.wake.Stop()
	defer c.alarm.Stop()
	c.log.Debug("job chain taken", "jobs", c.c.TotalJobs())
	for {
		c.startReady(jobs)
		if c.settle() {
			return
		}
		select {
		case res := <-c.results:
			c.ended(res)
		case <-c.kick:
			if c.acked() {
				return
			}
			c.follow(stopJobs)
		case <-c.giveUp.C:
			c.giveUpJobs()
		case <-c.wake.C:
		case <-c.alarm.C:
			c.wakeSleepers()
		case <-ctx.Done():
			return
		}
	}
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// startReady starts all that may start now.
func (c *chainRun) startReady(jobs context.Context) {
	// What is applied and not durable yet must not start anything.
	if c.applied > 0 || c.mode != modeRunning || c.r.reporter.full() {
		return
	}
	// A process that was frozen may come here before the end of its lease does.
	if c.wantedMode() != modeRunning || !c.r.heartbeat.leased() {
		return
	}
	now := time.Now()
	for _, s := range c.c.Next(now) {
		c.startTry(jobs, s, now)
	}
	c.setAlarm()
	if at, ok := c.c.Wake(); ok {
		c.wake.Reset(time.Until(at))
	} else {
		c.wake.Stop()
	}
}

// ended reports a try that ended.
func (c *chainRun) ended(res *tryResult) {
	c.mu.Lock()
	current := c.live[res.entry.JobID] == res.try
	if current {
		delete(c.live, res.entry.JobID)
	}
	c.mu.Unlock()
	if !current {
		c.log.Info("a job that had been given up ended", "job", res.entry.JobID, "try", res.entry.Try)
		return
	}
	if res.entry.State == proto.StateStopped && res.try.start.Job.NotIdempotent && c.mode == modeRunning {
		// Nobody asked for it, and the rules would run it again at once. The RM ends a
		// request that is handed in so.
		c.command(command{mode: modeSuspending, why: "a job was interrupted", patient: true})
	}
	c.report(res.entry)
}

func (c *chainRun) report(e *proto.JobLog) {
	e.Seq = c.nextSeq
	c.nextSeq++
	c.reported = append(c.reported, e)
	if c.mode == modeDropped {
		return
	}
	if c.alive() > 0 {
		c.r.reporter.add(c, proto.ReportItem{Entries: []proto.JobLog{*e}, FinishedJobs: c.c.FinishedJobs()})
		return
	}
	// Nothing else runs, so that nothing can happen before this entry is durable:
	// it may stand in the chain at once, and the end of the chain can travel with
	// it. The entry starts nothing until it is acknowledged: see startReady.
	for _, e := range c.reported[c.applied:] {
		c.apply(e)
	}
	c.applied = len(c.reported)
	item := proto.ReportItem{Entries: []proto.JobLog{*e}}
	c.addEnd(&item)
	item.FinishedJobs = c.c.FinishedJobs()
	c.r.reporter.add(c, item)
}

func (c *chainRun) apply(e *proto.JobLog) {
	if err := c.c.Apply(e); err != nil {
		// The chain started this try itself: it is a bug. The RM finds out by replay.
		c.log.Error("an entry does not fit the chain", "job", e.JobID, "try", e.Try, "error", err)
	}
}

// addEnd adds the end of the chain to an item if the chain has ended or is to
// be handed in. Nothing may run.
func (c *chainRun) addEnd(item *proto.ReportItem) {
	if state, done := c.c.Done(); done {
		item.Final, item.Reason = state, c.secrets.Text(c.c.Reason())
		c.ending = true
	} else if c.mode == modeSuspending {
		item.Suspended, item.Reason = c.c.Suspended(), c.why
		c.ending = true
	}
}

// settle sees to a chain in which nothing runs; it reports whether the loop is
// over.
func (c *chainRun) settle() bool {
	if c.alive() > 0 {
		return false
	}
	if c.mode == modeDropped {
		return true
	}
	if c.ending || len(c.reported) > 0 {
		return false
	}
	var item proto.ReportItem
	if c.addEnd(&item); c.ending {
		item.FinishedJobs = c.c.FinishedJobs()
		c.r.reporter.add(c, item)
	}
	return false
}

// acked applies what is durable now; it reports whether the loop is over.
func (c *chainRun) acked() bool {
	c.mu.Lock()
	a := c.acks
	c.acks = ack{}
	c.mu.Unlock()
	if a.refused != "" {
		c.command(command{mode: modeDropped, why: a.refused})
		return false
	}
	if a.end {
		return true
	}
	for i, e := range c.reported[:a.entries] {
		if i >= c.applied {
			c.apply(e)
		}
	}
	c.applied = max(c.applied-a.entries, 0)
	c.reported = c.reported[a.entries:]
	return false
}

// follow goes on to the wanted mode, unless the loop is past it.
func (c *chainRun) follow(stopJobs context.CancelCauseFunc) {
	c.mu.Lock()
	cmd := c.wanted
	c.mu.Unlock()
	if cmd.mode == c.mode && c.patient && !cmd.patient {
		c.patient = false
		c.giveUp.Reset(c.r.cfg.StopTimeout)
		return
	}
	if cmd.mode <= c.mode || c.ending && cmd.mode != modeDropped {
		return
	}
	c.mode, c.why, c.patient = cmd.mode, cmd.why, cmd.patient
	c.log.Info("ending", "why", cmd.why, "running", c.alive())
	switch cmd.mode {
	case modeSuspending:
		c.c.Suspend()
	case modeStopping, modeDropped:
		c.c.Stop()
	case modeRunning:
	}
	if cmd.cause == nil {
		cmd.cause = errStopped
	}
	stopJobs(cmd.cause)
	c.stopSleepers(cmd.cause)
	if !c.patient {
		c.giveUp.Reset(c.r.cfg.StopTimeout)
	}
}

// giveUpJobs takes jobs that did not end in time for stopped.
func (c *chainRun) giveUpJobs() {
	for {
		t := c.takeLive()
		if t == nil {
			return
		}
		c.log.Warn("job given up: it did not stop in time", "job", t.start.Job.ID, "try", t.start.Try)
		e := t.entry(c)
		e.State, e.Error = proto.StateStopped, "did not stop within "+c.r.cfg.StopTimeout.String()+"; given up"
		c.report(e)
	}
}

// takeLive takes one job out of those that run; nil if none does.
func (c *chainRun) takeLive() *try {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, t := range c.live {
		delete(c.live, id)
		return t
	}
	return nil
}

func (c *chainRun) wantedMode() mode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wanted.mode
}

func (c *chainRun) alive() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.live)
}
