package chain

import (
	"math"
	"math/bits"

	"github.com/treadle-run/treadle/proto"
)

// wake returns until when a job waits: for its own retry and those of the
// sequences around it, but no longer than to their deadlines. 0 is no wait.
func (c *Chain) wake(j int32) int64 {
	at := c.state[j].notBefore
	for q := c.seqOf[j]; q != none; q = c.seqs[q].parent {
		at = max(at, c.seqs[q].notBefore)
	}
	if at == 0 {
		return 0
	}
	deadline, _ := c.deadline(j)
	return min(at, deadline)
}

// jobWait returns the wait after a try of a job that used up one of its own.
func (c *Chain) jobWait(j int32) int64 {
	job, s := c.jobs[j], &c.state[j]
	return backoff{
		wait:   int64(job.RetryWait),
		limit:  int64(job.RetryWaitMax),
		factor: job.RetryBackoff,
		seed:   hash(c.jc.RequestID, job.ID, uint64(s.tries)),
	}.after(s.latest)
}

// sequenceWait returns the wait before the present try of a sequence.
func (c *Chain) sequenceWait(q int32) int64 {
	s := &c.seqs[q]
	return backoff{
		wait:   int64(s.spec.RetryWait),
		limit:  int64(s.spec.RetryWaitMax),
		factor: s.spec.RetryBackoff,
		seed:   hash(c.jc.RequestID, s.id, uint64(s.runs)),
	}.after(s.tries)
}

// backoff is how long to wait between tries, in nanoseconds. It is computed
// the same on every machine: a replay must come to the same times.
type backoff struct {
	wait, limit int64
	factor      float64
	seed        uint64
}

// after returns the wait after try 1, 2, ...: wait * factor^(try-1), up to limit,
// of which jitter takes off up to a half. Without a factor there is no jitter.
func (b backoff) after(try uint32) int64 {
	if b.wait <= 0 {
		return 0
	}
	limit := float64(math.MaxInt64)
	if b.limit > 0 {
		limit = float64(b.limit)
	}
	grows := b.factor > 0 && !math.IsInf(b.factor, 0)
	wait := float64(b.wait)
	for n := uint32(1); grows && n < try && b.factor != 1 && wait < limit && wait >= 1; n++ {
		// The conversion keeps the compiler from fusing operations, which would
		// give other results on other machines.
		wait = float64(wait * b.factor)
	}
	w := int64(math.MaxInt64)
	if wait < math.MaxInt64 {
		w = int64(wait)
	}
	if b.limit > 0 {
		w = min(w, b.limit)
	}
	if !grows {
		return w
	}
	part, _ := bits.Mul64(uint64(w/2), b.seed)
	return w - w/2 + int64(part)
}

// after returns a point in time that is later by wait, or the last one there is.
func after(at, wait int64) int64 {
	if at > math.MaxInt64-wait {
		return math.MaxInt64
	}
	return at + wait
}

// until returns when a wait from at ends, and 0 if there is no wait.
func until(at, wait int64) int64 {
	if wait <= 0 {
		return 0
	}
	return after(at, wait)
}

// hash mixes what names a try into evenly spread bits (FNV-1a, then a finalizer).
func hash(request, id string, try uint64) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	add := func(b byte) { h = (h ^ uint64(b)) * prime }
	for i := range len(request) {
		add(request[i])
	}
	add(0)
	for i := range len(id) {
		add(id[i])
	}
	add(0)
	for range 8 {
		add(byte(try))
		try >>= 8
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// restart starts a sequence again after the entry e: everything in it is as if
// it never ran. It is the same whether jobs of it still run or not, because in a
// replay none does; those that do run are remembered, and nothing in the sequence
// starts before they end.
func (c *Chain) restart(q int32, e *proto.JobLog) {
	c.rewind(q)
	for i := q + 1; i < c.seqs[q].end; i++ {
		s := &c.seqs[i]
		s.tries, s.startedAt, s.notBefore, s.timedOut, s.oldRuns = 0, 0, 0, false, 0
		delete(c.held, i)
	}
	s := &c.seqs[q]
	s.tries++
	s.runs++
	s.restarted = c.entries
	s.notBefore = until(e.FinishedAt, c.sequenceWait(q))
	delete(c.held, q)
	s.oldRuns = c.markOldRuns(q)
	c.clearGroups(q)
	for _, j := range c.jobsIn(q) {
		if c.state[j].prevs == 0 && c.state[j].place == placeNone {
			c.reach(j)
		}
	}
}

// markOldRuns has sequence q wait for the jobs of it that run, and counts them.
func (c *Chain) markOldRuns(q int32) int32 {
	n := int32(0)
	jobs := c.jobsIn(q)
	if len(jobs) < len(c.running) {
		for _, j := range jobs {
			if _, runs := c.running[j]; runs {
				c.running[j] = q
				n++
			}
		}
		return n
	}
	for j := range c.running {
		if c.around(q, j) {
			c.running[j] = q
			n++
		}
	}
	return n
}

// rewind makes every job in a sequence PENDING and takes back what followed from
// its being COMPLETE.
func (c *Chain) rewind(q int32) {
	for _, j := range c.jobsIn(q) {
		c.undo(j)
	}
	for _, j := range c.jobsIn(q) {
		s := &c.state[j]
		c.setPlace(j, placeNone)
		s.state, s.latest, s.notBefore, s.reached = proto.StatePending, 0, 0, false
		s.own, s.flow = nil, nil
	}
}

// undo makes a COMPLETE job PENDING. Jobs after it wait again unless they ran;
// structural ones are taken back with it.
func (c *Chain) undo(j int32) {
	stack := []int32{j}
	for len(stack) > 0 {
		j := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		s := &c.state[j]
		if s.state != proto.StateComplete {
			continue
		}
		s.state, s.own, s.flow = proto.StatePending, nil, nil
		if !c.jobs[j].Structural {
			c.finished--
		}
		for _, p := range c.prev.of(j) {
			c.state[p].left++
		}
		for _, n := range c.next.of(j) {
			c.state[n].prevs++
			c.setPlace(n, placeNone)
			c.forget(n)
			if c.jobs[n].Structural {
				stack = append(stack, n)
			}
		}
	}
}

// endOldRun takes the end of a try that was still running when a sequence around
// its job started again. Only the sequence that started again last waits for it:
// while such a try runs nothing in a sequence around it that started again
// starts, so these start again from the inside outwards, each once.
func (c *Chain) endOldRun(j, q int32, e *proto.JobLog) {
	s := &c.seqs[q]
	c.noteStart(q, e.StartedAt)
	s.notBefore = max(s.notBefore, until(e.FinishedAt, c.sequenceWait(q)))
	_, ran := c.running[j]
	c.setEnded(j)
	if !ran {
		return
	}
	if s.oldRuns--; s.oldRuns > 0 {
		return
	}
	held := c.held[q]
	delete(c.held, q)
	for _, j := range held {
		if c.state[j].place == placeHeld {
			c.setPlace(j, placeNone)
			c.file(j)
		}
	}
}

// restartedLast returns which of the sequences around a job started again last,
// of those that this Chain knows of.
func (c *Chain) restartedLast(j int32) int32 {
	last := none
	for q := c.seqOf[j]; q != none; q = c.seqs[q].parent {
		if r := c.seqs[q].restarted; r > 0 && (last == none || r > c.seqs[last].restarted) {
			last = q
		}
	}
	return last
}
