package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
)

// mode is what a chain's loop is up to. It only ever grows.
type mode uint8

const (
	modeRunning    mode = iota
	modeSuspending      // nothing starts; once nothing runs, the chain is handed back
	modeStopping        // nothing starts; once nothing runs, the chain is STOPPED
	modeDropped         // it is no longer ours: jobs end, nothing is reported
)

// command asks a loop to go on to a mode.
type command struct {
	mode mode
	why  string
	// patient commands wait for jobs as long as these take: the process lives on, so
	// that a job that was abandoned would run beside its next try elsewhere.
	patient bool
	cause   error // that contexts of jobs end with; nil is errStopped
}

var stopByRequest = command{mode: modeStopping, why: "stopped by request"}

// The causes that a job's context ends with.
var (
	errStopped    = errors.New("stopped")
	errJobTimeout = errors.New("timed out")
	// errNotStarted is the end of a try that could not start before its time was over.
	errNotStarted = fmt.Errorf("%w before it started", errJobTimeout)
)

// command asks the loop to go on to a mode; it never blocks and is never lost.
func (c *chainRun) command(cmd command) {
	c.mu.Lock()
	// A shutdown goes on to the mode of a drain, but has no time to be patient.
	if cmd.mode > c.wanted.mode || cmd.mode == c.wanted.mode && c.wanted.patient && !cmd.patient {
		c.wanted = cmd
	}
	c.mu.Unlock()
	c.wakeUp()
}

// ack says what became of what the loop gave to the reporter, since it looked last.
type ack struct {
	entries int    // how many entries became durable
	end     bool   // the end of the chain is durable
	refused string // why the chain is not ours any more; "" if it is
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
	c.wakeUp()
}

// wakeUp asks the loop to look again at commands, acknowledgements, and what may
// start.
func (c *chainRun) wakeUp() { wait.Nudge(c.wake) }

// applyCommand goes on to the wanted mode, unless the loop is past it.
func (c *chainRun) applyCommand(stopJobs context.CancelCauseFunc) {
	c.mu.Lock()
	cmd := c.wanted
	c.mu.Unlock()
	if cmd.mode == c.mode && c.patient && !cmd.patient {
		c.patient = false
		c.stopDeadline.Reset(c.env.stopTimeout)
		return
	}
	if cmd.mode <= c.mode || c.ending && cmd.mode != modeDropped {
		return
	}
	c.mode, c.why, c.patient = cmd.mode, cmd.why, cmd.patient
	c.log.Info("ending the job chain", "why", cmd.why, "running", c.running())
	switch cmd.mode {
	case modeSuspending:
		c.chain.Suspend()
	case modeStopping, modeDropped:
		c.chain.Stop()
	case modeRunning:
	}
	if cmd.cause == nil {
		cmd.cause = errStopped
	}
	stopJobs(cmd.cause)
	c.stopSleepers(cmd.cause)
	if !c.patient {
		c.stopDeadline.Reset(c.env.stopTimeout)
	}
}

// abandonJobs takes jobs that did not end in time for stopped, and waits for them no
// longer.
func (c *chainRun) abandonJobs() {
	for {
		t := c.takeLive()
		if t == nil {
			return
		}
		c.env.abandoned.add(c, t)
		c.log.Error("job abandoned: it did not stop in time and still runs; this runner accepts no job chains until it ends", "job", t.start.Job.ID, "try", t.start.Try)
		e := t.entry(c)
		e.State, e.Error = proto.StateStopped, "did not stop within "+c.env.stopTimeout.String()+"; abandoned"
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

// running is how many jobs of the chain run.
func (c *chainRun) running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.live)
}
