package chain

import (
	"math"
	"slices"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Start is a job that is to run now.
type Start struct {
	Job *proto.Job
	// Try is 1, 2, ... over all tries of the job; Run says how often the sequences
	// around it have started again. Both go into the entry of the try.
	Try uint
	Run uint
	// Data is what the jobs before this one set. It must not be changed.
	Data proto.Values
	// Deadline bounds the try; zero is none. It may be past already: then the try is
	// to end at once, as one that ran into it.
	Deadline time.Time
	// TimedOut is the id of the sequence whose timeout Deadline is, or "". It goes
	// into the entry of a try that the deadline ended.
	TimedOut string
}

// Next returns all that may start now, in topological order, ties by id, and
// takes it for running: each needs an entry. An entry's StartedAt must be the now
// given here.
func (c *Chain) Next(now time.Time) []Start {
	if c.mode != modeRun {
		return nil
	}
	c.wakeUntil(now.UnixNano())
	var jobs []int32
	for len(c.ready) > 0 || len(c.roomy) > 0 {
		jobs = c.pick(jobs)
		c.admit()
	}
	if len(jobs) == 0 {
		return nil
	}
	slices.Sort(jobs)
	starts := make([]Start, len(jobs))
	for i, j := range jobs {
		starts[i] = c.start(j, now)
	}
	return starts
}

// pick takes the jobs off the ready list: to jobs, or to where they wait for room.
func (c *Chain) pick(jobs []int32) []int32 {
	for _, j := range c.ready {
		c.state[j].listed = false
		if c.state[j].place != placeReady {
			continue
		}
		if m := c.roomless(j); m != none {
			c.park(j, m)
			continue
		}
		c.setRunning(j)
		c.setPlace(j, placeNone)
		jobs = append(jobs, j)
	}
	c.ready = c.ready[:0]
	return jobs
}

func (c *Chain) start(j int32, now time.Time) Start {
	nano := now.UnixNano()
	for q := c.seqOf[j]; q != none; q = c.seqs[q].parent {
		if s := &c.seqs[q]; s.spec.Timeout > 0 && s.startedAt == 0 {
			s.startedAt = nano
		}
	}
	job := c.jobs[j]
	start := Start{
		Job:  job,
		Try:  uint(c.state[j].tries) + 1,
		Run:  c.run(j),
		Data: c.dataFor(j),
	}
	deadline := int64(math.MaxInt64)
	if job.Timeout > 0 {
		deadline = after(nano, int64(job.Timeout))
	}
	if at, q := c.deadline(j); q != none && at <= deadline {
		deadline, start.TimedOut = at, c.seqs[q].id
	}
	if deadline != math.MaxInt64 {
		start.Deadline = now.Add(time.Duration(deadline - nano))
	}
	return start
}

// deadline returns the earliest deadline of the sequences around a job that have
// one, and the outermost sequence with it.
func (c *Chain) deadline(j int32) (int64, int32) {
	least, of := int64(math.MaxInt64), none
	for q := c.seqOf[j]; q != none; q = c.seqs[q].parent {
		s := &c.seqs[q]
		if s.spec.Timeout <= 0 || s.startedAt == 0 {
			continue
		}
		if at := after(s.startedAt, int64(s.spec.Timeout)); at <= least {
			least, of = at, q
		}
	}
	return least, of
}

// Wake returns when Next can give more without another entry: when the earliest
// wait of a job ends, or when the timeout of a sequence around it passes if that
// is earlier. It is false if nothing waits, or nothing may start any more. The
// time may be past.
func (c *Chain) Wake() (time.Time, bool) {
	if c.mode != modeRun {
		return time.Time{}, false
	}
	c.sortWaits()
	for len(c.waits) > 0 {
		top := c.waits[0]
		if c.state[top.i].place == placeWaiting {
			at := c.wake(top.i)
			if at <= top.key {
				return time.Unix(0, top.key), true
			}
			c.waits.push(at, top.i)
		}
		c.waits.pop()
	}
	return time.Time{}, false
}

// wakeUntil makes the jobs ready whose wait is over.
func (c *Chain) wakeUntil(now int64) {
	c.sortWaits()
	for len(c.waits) > 0 && c.waits[0].key <= now {
		j := c.waits.pop().i
		if c.state[j].place != placeWaiting {
			continue // taken back since, or here twice
		}
		if at := c.wake(j); at > now {
			c.waits.push(at, j)
			continue
		}
		c.setPlace(j, placeReady)
	}
}

// sortWaits brings the waits in order again after a deadline moved to an earlier
// time. That happens in a replay only: a live chain knows when its sequences
// started.
func (c *Chain) sortWaits() {
	if !c.waitsMoved {
		return
	}
	c.waitsMoved = false
	old := c.waits
	c.waits = nil
	for _, item := range old {
		if c.state[item.i].place == placeWaiting {
			c.waits.push(c.wake(item.i), item.i)
		}
	}
}
