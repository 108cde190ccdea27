package chain

import (
	"maps"
	"slices"

	"github.com/treadle-run/treadle/proto"
)

// flow is the job data at a place in the graph. jobState.flow of a COMPLETE job is
// what the jobs after it see of it; that of any other job is what it sees
// itself. It follows from the states and own data alone, so it may be thrown away
// and computed again: it is computed when a job starts, passed on along the
// edges, and dropped when no job after it can need it any more. Nearly always
// it is a map that exists already.
type flow struct {
	values proto.Values
}

var (
	// emptyFlow is known to have nothing in it.
	emptyFlow = &flow{}
	// droppedFlow stands for one that was known and was dropped. A flow that was
	// never known is nil; then no flow after it is known, either.
	droppedFlow = &flow{}
)

func known(f *flow) bool { return f != nil && f != droppedFlow }

// dataFor returns the data for a job that starts.
func (c *Chain) dataFor(j int32) proto.Values {
	s := &c.state[j]
	if !known(s.flow) {
		c.fill(j)
		s.flow = c.merge(j)
	}
	return s.flow.values
}

// passOn turns the data that a job was given into that of the jobs after it; it is about to be
// COMPLETE. What is not known, because the job log is replayed, stays so.
func (c *Chain) passOn(j int32) {
	s := &c.state[j]
	if c.jobs[j].Structural && !known(s.flow) {
		for _, p := range c.prev.of(j) {
			if c.state[p].state == proto.StateComplete && !known(c.state[p].flow) {
				return
			}
		}
		s.flow = c.merge(j)
	}
	if known(s.flow) {
		s.flow = overlay(s.flow, s.own)
	}
}

// drop throws the flow of a COMPLETE job away if no job is left that needs it.
func (c *Chain) drop(j int32) {
	s := &c.state[j]
	if s.left == 0 && known(s.flow) && len(s.flow.values) > 0 {
		s.flow = droppedFlow
	}
}

// forget throws away what was computed from data that changed: the flow of a job
// and of all after it. Commonly none is known: a job starts after those
// before it are COMPLETE, and they stay so or are taken back with it.
func (c *Chain) forget(j int32) {
	if c.state[j].flow == nil {
		return
	}
	stack := []int32{j}
	for len(stack) > 0 {
		j := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if c.state[j].flow == nil {
			continue
		}
		c.state[j].flow = nil
		stack = append(stack, c.next.of(j)...)
	}
}

// merge returns what a job sees: of its COMPLETE previous jobs, whose flows must be
// known, in the order of their ids; later ones win.
func (c *Chain) merge(j int32) *flow {
	one, several := emptyFlow, false
	for _, p := range c.prev.of(j) {
		f := c.flowFrom(p)
		several = several || one != emptyFlow && f != emptyFlow && f != one
		if f != emptyFlow {
			one = f
		}
	}
	if !several {
		return one
	}
	values := proto.Values{}
	last := emptyFlow
	for _, p := range c.prev.of(j) {
		if f := c.flowFrom(p); f != last {
			maps.Copy(values, f.values)
			last = f
		}
	}
	return &flow{values}
}

func (c *Chain) flowFrom(p int32) *flow {
	if c.state[p].state != proto.StateComplete {
		return emptyFlow
	}
	return c.state[p].flow
}

// overlay returns a flow with what a job set itself.
func overlay(f *flow, own proto.Values) *flow {
	switch {
	case len(own) == 0:
		return f
	case len(f.values) == 0:
		return &flow{own}
	}
	values := make(proto.Values, len(f.values)+len(own))
	maps.Copy(values, f.values)
	maps.Copy(values, own)
	return &flow{values}
}

// fill computes the flows of the COMPLETE previous jobs of a job, and of those
// before them as far as they are not known.
func (c *Chain) fill(j int32) {
	var jobs []int32
	stack := []int32{j}
	for len(stack) > 0 {
		j := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, p := range c.prev.of(j) {
			s := &c.state[p]
			if s.state == proto.StateComplete && !known(s.flow) && !s.visited {
				s.visited = true
				jobs = append(jobs, p)
				stack = append(stack, p)
			}
		}
	}
	if len(jobs) == 0 {
		return
	}
	slices.Sort(jobs) // topological order
	uses := make(map[int32]int, len(jobs))
	for _, j := range jobs {
		for _, p := range c.prev.of(j) {
			uses[p]++
		}
	}
	for _, j := range jobs {
		s := &c.state[j]
		s.visited = false
		s.flow = overlay(c.merge(j), s.own)
		for _, p := range c.prev.of(j) {
			// Dropping as soon as possible keeps a long chain of jobs that each
			// set something from being in memory as often as it is long.
			if uses[p]--; uses[p] == 0 {
				c.drop(p)
			}
		}
	}
}
