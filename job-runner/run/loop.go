package run

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treadle-run/treadle/chain"
	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// env is what the loops of all chains use.
type env struct {
	registry    *job.Registry
	reporter    *reporter
	lease       *lease
	abandoned   *abandoned
	hurry       atomic.Bool   // the process is about to end
	stopTimeout time.Duration // see Config.StopTimeout
	maxDataSize int           // see Config.MaxDataSize
	log         *slog.Logger
}

// chainRun runs one chain. The loop owns all fields but those below mu.
type chainRun struct {
	env     *env
	id      string
	epoch   uint64
	chain   *chain.Chain
	secrets mask.Masker
	log     *slog.Logger

	wake chan struct{} // see wakeUp
	// results has room for every job of the chain, so that no job ever waits to
	// tell that it ended, not even one that was abandoned.
	results chan *tryResult

	mode    mode
	why     string // of the mode
	patient bool   // jobs are not abandoned
	nextSeq uint64 // of the next entry
	// reported are entries on their way; the first applied of them stand in the
	// chain already.
	reported []*proto.JobLog
	applied  int
	ending   bool // the end is on its way

	stopDeadline *time.Timer // when jobs are abandoned
	toldAt       time.Time   // to stop
	hurried      bool        // env.hurry was noticed
	nextStart    *time.Timer // when a job may start that waits between tries
	asleep       sleepers
	alarm        *time.Timer // when the first of the sleepers wakes

	mu     sync.Mutex
	live   map[string]*try // by job id
	wanted command         // the mode to go on to
	acks   ack

	refused bool // the reporter's, under its lock: nothing more is reported
}

func newChainRun(e *env, id string, epoch uint64, c *chain.Chain, secrets []string) *chainRun {
	return &chainRun{
		env:     e,
		id:      id,
		epoch:   epoch,
		chain:   c,
		secrets: mask.New(secrets),
		log:     e.log.With("request", id, "epoch", epoch),
		wake:    make(chan struct{}, 1),
		results: make(chan *tryResult, c.TotalJobs()),
		nextSeq: c.Entries(),
		live:    map[string]*try{},
	}
}

// loop runs the chain to its end, or until ctx ends: then jobs are told to
// stop and nothing more is reported.
func (c *chainRun) loop(ctx context.Context) {
	jobs, stopJobs := context.WithCancelCause(ctx)
	defer stopJobs(errStopped)
	c.stopDeadline, c.nextStart, c.alarm = stoppedTimer(), stoppedTimer(), stoppedTimer()
	defer c.stopDeadline.Stop()
	defer c.nextStart.Stop()
	defer c.alarm.Stop()
	c.log.Debug("job chain accepted", "jobs", c.chain.TotalJobs())
	for {
		c.startReady(jobs)
		if c.running() == 0 {
			if c.mode == modeDropped {
				return
			}
			c.reportEnd()
		}
		select {
		case res := <-c.results:
			c.tryEnded(res)
		case <-c.wake:
			if c.applyAcks() {
				return
			}
			c.applyCommand(stopJobs)
		case <-c.stopDeadline.C:
			c.abandonJobs()
		case <-c.nextStart.C:
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
	if c.applied > 0 || c.mode != modeRunning || c.env.reporter.full() {
		return
	}
	// A process that was frozen may come here before the end of its lease does.
	if c.wantedMode() != modeRunning || !c.env.lease.valid() {
		return
	}
	now := time.Now()
	for _, s := range c.chain.Next(now) {
		c.startTry(jobs, s, now)
	}
	c.setAlarm()
	if at, ok := c.chain.Wake(); ok {
		c.nextStart.Reset(time.Until(at))
	} else {
		c.nextStart.Stop()
	}
}

// tryEnded reports a try that ended.
func (c *chainRun) tryEnded(res *tryResult) {
	c.mu.Lock()
	current := c.live[res.entry.JobID] == res.try
	if current {
		delete(c.live, res.entry.JobID)
	}
	c.mu.Unlock()
	if !current {
		return // it had been abandoned
	}
	if res.entry.State == proto.StateStopped && res.try.start.Job.NotIdempotent && c.mode == modeRunning {
		// Nobody asked for it, and the rules would run it again at once. The RM ends a
		// request that is handed back so.
		c.command(command{mode: modeSuspending, why: "a job was interrupted", patient: true})
	}
	c.report(res.entry)
}

// report gives an entry to the reporter. It stands in the chain once it is durable.
func (c *chainRun) report(e *proto.JobLog) {
	e.Seq = c.nextSeq
	c.nextSeq++
	c.reported = append(c.reported, e)
	if c.mode == modeDropped {
		return
	}
	if c.running() > 0 {
		c.env.reporter.add(c, proto.ReportItem{Entries: []proto.JobLog{*e}, FinishedJobs: c.chain.FinishedJobs()})
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
	item.FinishedJobs = c.chain.FinishedJobs()
	c.env.reporter.add(c, item)
}

func (c *chainRun) apply(e *proto.JobLog) {
	if err := c.chain.Apply(e); err != nil {
		// The chain started this try itself: it is a bug. The RM finds out by replay.
		c.log.Error("an entry does not fit the chain", "job", e.JobID, "try", e.Try, "error", err)
	}
}

// addEnd adds the end of the chain to an item if the chain has ended or is to
// be handed back. Nothing may run.
func (c *chainRun) addEnd(item *proto.ReportItem) {
	if state, done := c.chain.Done(); done {
		item.Final, item.Reason = state, c.secrets.Text(c.chain.Reason())
		c.ending = true
	} else if c.mode == modeSuspending {
		item.Suspended, item.Reason = c.chain.Suspended(), c.why
		c.ending = true
	}
}

// reportEnd reports the end of a chain that ends without an entry of its own, once
// all entries are durable. Nothing may run.
func (c *chainRun) reportEnd() {
	if c.ending || len(c.reported) > 0 {
		return
	}
	var item proto.ReportItem
	if c.addEnd(&item); c.ending {
		item.FinishedJobs = c.chain.FinishedJobs()
		c.env.reporter.add(c, item)
	}
}

// applyAcks applies what is durable now; it reports whether the loop is over.
func (c *chainRun) applyAcks() (over bool) {
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
