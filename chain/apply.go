package chain

import (
	"math"

	"github.com/treadle-run/treadle/proto"
)

// Apply takes the entry of one try that ended. The job need not have been given
// by Next: an entry says that it ran. A wrong entry is refused with a
// proto.Error and changes nothing.
func (c *Chain) Apply(e *proto.JobLog) error {
	j, old, err := c.check(e)
	if err != nil {
		return err
	}
	c.entries++
	s := &c.state[j]
	s.tries++
	if old != none {
		c.endOldRun(j, old, e)
		c.releaseRooms()
		return nil
	}
	c.noteStart(c.seqOf[j], e.StartedAt)
	for q := c.seqOf[j]; q != none; q = c.seqs[q].parent {
		c.seqs[q].notBefore = 0
	}
	c.membersOf(j, c.enter)
	c.setEnded(j)
	c.setPlace(j, placeNone)
	s.notBefore = 0
	switch e.State {
	case proto.StateComplete:
		s.latest++
		if len(e.Data) > 0 {
			s.own = e.Data
		}
		c.complete(j)
	case proto.StateFail:
		s.latest++
		c.fail(j, e)
	default:
		s.state = proto.StateStopped
		c.fileAgain(j)
	}
	// The member may have been active with this job only, without a mark.
	c.membersOf(j, func(m int32) { c.emptied = append(c.emptied, m) })
	c.releaseRooms()
	return nil
}

// check validates an entry. It returns the job and, if the try is of an earlier
// run of its sequences, the sequence that waits for it.
func (c *Chain) check(e *proto.JobLog) (j, old int32, err error) {
	refuse := func(format string, args ...any) (int32, int32, error) {
		return none, none, invalid(c.jc, format, args...)
	}
	if e == nil {
		return refuse("there is no job log entry")
	}
	if e.RequestID != c.jc.RequestID {
		return refuse("the job log entry is of request %q", e.RequestID)
	}
	if e.Seq != c.entries {
		return refuse("job log entry %d was expected, but this is entry %d", c.entries, e.Seq)
	}
	j, ok := c.find(e.JobID)
	if !ok || c.jobs[j].Structural {
		return refuse("job log entry %d is of job %q, which does not run in this chain", e.Seq, e.JobID)
	}
	s := &c.state[j]
	if !e.State.Final() {
		return refuse("job log entry %d of job %q has state %s, which is not the end of a try", e.Seq, e.JobID, e.State)
	}
	if e.Try != uint(s.tries)+1 || s.tries == math.MaxUint32 {
		return refuse("job log entry %d of job %q is try %d, but try %d was expected", e.Seq, e.JobID, e.Try, s.tries+1)
	}
	if e.TimedOut != "" && c.enclosing(j, e.TimedOut) == none {
		return refuse("job log entry %d of job %q was timed out by sequence %q, which is not around it", e.Seq, e.JobID, e.TimedOut)
	}
	run := c.run(j)
	waiter, runs := c.running[j]
	if e.Run > run || runs && (e.Run < run) != (waiter != none) {
		return refuse("job log entry %d of job %q is of run %d of its sequences, which are in run %d", e.Seq, e.JobID, e.Run, run)
	}
	if e.Run < run {
		if old = c.restartedLast(j); old == none {
			return refuse("job log entry %d of job %q is of run %d of its sequences, which ended before the chain was resumed", e.Seq, e.JobID, e.Run)
		}
		return j, old, nil
	}
	if !s.reached || s.state == proto.StateComplete || s.state == proto.StateFail {
		return refuse("job log entry %d is of job %q, which is %s and could not run", e.Seq, e.JobID, s.state)
	}
	return j, none, nil
}

// complete makes a job COMPLETE, the structural ones after it that wait for
// nothing else with it, and files the jobs that are ready by that.
func (c *Chain) complete(j int32) {
	stack := []int32{j}
	for len(stack) > 0 {
		j := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		s := &c.state[j]
		if s.state == proto.StateComplete {
			continue
		}
		if !c.jobs[j].Structural {
			c.finished++
		}
		c.passOn(j)
		s.state = proto.StateComplete
		delete(c.failures, j)
		for _, p := range c.prev.of(j) {
			c.state[p].left--
			c.drop(p)
		}
		for _, n := range c.next.of(j) {
			c.forget(n)
			if c.state[n].prevs--; c.state[n].prevs > 0 {
				continue
			}
			if c.jobs[n].Structural {
				stack = append(stack, n)
			} else {
				c.file(n)
			}
		}
	}
}

// reach takes a job all of whose previous jobs are COMPLETE.
func (c *Chain) reach(j int32) {
	if c.jobs[j].Structural {
		c.complete(j)
	} else {
		c.file(j)
	}
}

// fileAgain files a job for its next try, if the jobs before it are still COMPLETE.
func (c *Chain) fileAgain(j int32) {
	if c.state[j].prevs == 0 {
		c.file(j)
	}
}

// fail decides what a failed try leads to: the next try of the job, or of the
// innermost sequence around it with tries left, or nothing.
func (c *Chain) fail(j int32, e *proto.JobLog) {
	c.noteFailure(j, e)
	if q := c.enclosing(j, e.TimedOut); e.TimedOut != "" && !c.seqs[q].timedOut {
		c.timeOut(q)
	}
	// Nothing inside a sequence that timed out tries again.
	from, timedOut := c.seqOf[j], false
	for q := c.seqOf[j]; q != none; q = c.seqs[q].parent {
		if c.seqs[q].timedOut {
			from, timedOut = c.seqs[q].parent, true
		}
	}
	s := &c.state[j]
	if !timedOut && uint(s.latest) <= c.jobs[j].Retry {
		s.state = proto.StatePending
		s.notBefore = until(e.FinishedAt, c.jobWait(j))
		c.fileAgain(j)
		return
	}
	for q := from; q != none; q = c.seqs[q].parent {
		if uint(c.seqs[q].tries) < c.seqs[q].spec.Retry {
			c.restart(q, e)
			return
		}
	}
	s.state = proto.StateFail
}
