package chain

import (
	"maps"
	"slices"

	"github.com/treadle-run/treadle/proto"
)

// sequence is a sequence of the chain and its state.
type sequence struct {
	id     string
	spec   *proto.Sequence
	parent int32 // the sequence around it
	end    int32 // the sequences inside it are those after it and before end
	lo, hi int32 // its jobs and those inside it, in graph.bySeq
	member int32 // of a parallel group

	oldRuns   int32  // jobs of it that still run since before it started again
	tries     uint32 // after the first, since a sequence around it started again
	runs      uint32 // how often it started again, ever
	startedAt int64  // of its first job, if it has a timeout; Unix nanoseconds
	notBefore int64  // until when its jobs wait, Unix nanoseconds
	restarted uint64 // the count of entries when it last started again; 0 is never
	timedOut  bool
}

// newSequences checks the sequences of a job chain, orders them, and assigns the
// jobs to them. It returns the number of each sequence id, too.
func newSequences(g *graph) ([]sequence, map[string]int32, error) {
	jc := g.jc
	inside := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(jc.Sequences)) {
		s := jc.Sequences[id]
		if s == nil || id == "" {
			return nil, nil, invalid(jc, "sequence %q is null or has no id", id)
		}
		if _, ok := jc.Sequences[s.Parent]; s.Parent != "" && !ok {
			return nil, nil, invalid(jc, "sequence %q is in sequence %q, which is not in the chain", id, s.Parent)
		}
		inside[s.Parent] = append(inside[s.Parent], id)
	}
	seqs := make([]sequence, 0, len(jc.Sequences))
	number := make(map[string]int32, len(jc.Sequences))
	// Depth first; a sequence is left again when it comes up the second time.
	stack := slices.Clone(inside[""])
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		if n, entered := number[id]; entered {
			seqs[n].end = int32(len(seqs))
			stack = stack[:len(stack)-1]
			continue
		}
		s := sequence{id: id, spec: jc.Sequences[id], parent: none, member: none}
		if s.spec.Parent != "" {
			s.parent = number[s.spec.Parent]
		}
		number[id] = int32(len(seqs))
		seqs = append(seqs, s)
		stack = append(stack, inside[id]...)
	}
	if len(seqs) < len(jc.Sequences) {
		return nil, nil, invalid(jc, "sequences are inside each other in a cycle")
	}
	return seqs, number, g.assign(seqs, number)
}

// assign sets the sequence of each job, and the jobs of each sequence.
func (g *graph) assign(seqs []sequence, number map[string]int32) error {
	g.seqOf = make([]int32, len(g.jobs))
	at := make([]int32, len(seqs)+1)
	for j, job := range g.jobs {
		q, ok := number[job.SequenceID]
		if job.SequenceID == "" {
			q = none
		} else if !ok {
			return invalid(g.jc, "job %q is in sequence %q, which is not in the chain", job.ID, job.SequenceID)
		}
		g.seqOf[j] = q
		if q != none {
			at[q+1]++
		}
	}
	for q := range seqs {
		at[q+1] += at[q]
	}
	for q := range seqs {
		seqs[q].lo, seqs[q].hi = at[q], at[seqs[q].end]
	}
	g.bySeq = make([]int32, at[len(seqs)])
	for j, q := range g.seqOf {
		if q != none {
			g.bySeq[at[q]] = int32(j)
			at[q]++
		}
	}
	return nil
}

// jobsIn returns the jobs of a sequence and of all inside it.
func (c *Chain) jobsIn(q int32) []int32 { return c.bySeq[c.seqs[q].lo:c.seqs[q].hi] }

// around reports whether sequence q is around job j.
func (c *Chain) around(q, j int32) bool {
	in := c.seqOf[j]
	return q <= in && in < c.seqs[q].end
}

// run returns how often the sequences around a job started again, ever.
func (c *Chain) run(j int32) uint {
	var n uint
	for q := c.seqOf[j]; q != none; q = c.seqs[q].parent {
		n += uint(c.seqs[q].runs)
	}
	return n
}

// enclosing returns the sequence with the id if it is around the job.
func (c *Chain) enclosing(j int32, id string) int32 {
	q := c.seqOf[j]
	for q != none && c.seqs[q].id != id {
		q = c.seqs[q].parent
	}
	return q
}

// noteStart takes over from an entry when the sequences from q outwards started.
func (c *Chain) noteStart(q int32, at int64) {
	for ; q != none; q = c.seqs[q].parent {
		s := &c.seqs[q]
		if s.spec.Timeout <= 0 || s.startedAt != 0 && s.startedAt <= at {
			continue
		}
		c.waitsMoved = c.waitsMoved || s.startedAt != 0
		s.startedAt = at
	}
}

// timeOut makes a sequence fail for good: nothing in it starts any more.
func (c *Chain) timeOut(q int32) {
	c.seqs[q].timedOut = true
	for i := q; i < c.seqs[q].end; i++ {
		c.seqs[i].notBefore = 0
	}
	for _, j := range c.jobsIn(q) {
		s := &c.state[j]
		c.setPlace(j, placeNone)
		s.notBefore = 0
		if s.state == proto.StateStopped {
			s.state = proto.StatePending
		}
	}
}
