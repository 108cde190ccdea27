package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/job"
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
	if c.mode != modeRunning && !c.hurried && c.env.hurry.Load() {
		c.hurried = true
		c.setStopDeadline()
	}
	if cmd.mode == c.mode && c.patient && !cmd.patient {
		c.patient = false
		c.setStopDeadline()
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
	c.hurried = c.env.hurry.Load()
	c.setStopDeadline()
}

// setStopDeadline gives jobs time to end, from now on.
func (c *chainRun) setStopDeadline() {
	c.toldAt = time.Now()
	c.stopDeadline.Reset(c.env.stopTimeout)
}

// endGrace is what a job may need beside the grace that it asks for.
const endGrace = 5 * time.Second

// mayTake is for how long a job may go on after it was told to stop. When the process is
// about to end there is no time for what a job asks for.
func (c *chainRun) mayTake(t *try) time.Duration {
	if grace := job.Grace(t.job); grace > 0 && !c.hurried {
		return max(c.env.stopTimeout, grace+endGrace)
	}
	return c.env.stopTimeout
}

// abandonJobs takes jobs that did not end in time for stopped, and waits for them no
// longer; with patience it waits, but not for ever.
func (c *chainRun) abandonJobs() {
	late, next := c.lateJobs()
	if next > 0 {
		c.stopDeadline.Reset(next)
	}
	for _, t := range late {
		if c.patient {
			if !t.watched {
				t.watched = true
				c.env.abandoned.watch(c, t)
			}
			continue
		}
		c.mu.Lock()
		delete(c.live, t.start.Job.ID)
		c.mu.Unlock()
		c.env.abandoned.add(c, t)
		c.log.Error("job abandoned: it did not stop in time and still runs; this runner accepts no job chains until it ends", "job", t.start.Job.ID, "try", t.start.Try)
		e := t.entry(c)
		e.State, e.Error = proto.StateStopped, "did not stop within "+c.env.stopTimeout.String()+"; abandoned"
		c.report(e)
	}
}

// lateJobs returns the jobs that should have ended, and when that of the others is next
// to be looked at; 0 is never.
func (c *chainRun) lateJobs() (late []*try, next time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := time.Since(c.toldAt)
	for _, t := range c.live {
		left := c.mayTake(t) - told
		switch {
		case left <= 0:
			late = append(late, t)
		case next == 0 || left < next:
			next = left
		}
	}
	return late, next
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
