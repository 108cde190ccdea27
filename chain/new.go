package chain

import (
	"github.com/treadle-run/treadle/proto"
)

// New returns the chain of a job chain of which nothing ran yet: every job is
// PENDING, whatever its state in jc. The error is a proto.Error that says what is
// wrong with jc: jobs that wait for each other in a cycle, or an id that is not
// known.
func New(jc *proto.JobChain) (*Chain, error) {
	c, _, err := build(jc)
	if err != nil {
		return nil, err
	}
	c.initialize()
	return c, nil
}

// build returns the chain with every job PENDING and none ready, and the number
// of each sequence id.
func build(jc *proto.JobChain) (*Chain, map[string]int32, error) {
	if jc == nil {
		return nil, nil, proto.Errorf(proto.CodeInvalid, "there is no job chain")
	}
	g, err := newGraph(jc)
	if err != nil {
		return nil, nil, err
	}
	seqs, number, err := newSequences(g)
	if err != nil {
		return nil, nil, err
	}
	members, groups, err := newGroups(g, seqs)
	if err != nil {
		return nil, nil, err
	}
	c := &Chain{
		graph:    g,
		state:    make([]jobState, len(g.jobs)),
		seqs:     seqs,
		members:  members,
		groups:   groups,
		running:  map[int32]int32{},
		held:     map[int32][]int32{},
		failures: map[int32]proto.JobFailure{},
	}
	for j := range c.state {
		c.state[j].state = proto.StatePending
	}
	return c, number, nil
}

// initialize counts what each job waits for, and files those that wait for none.
func (c *Chain) initialize() {
	for j := range c.state {
		for _, p := range c.prev.of(int32(j)) {
			if c.state[p].state != proto.StateComplete {
				c.state[j].prevs++
			}
			if c.state[j].state != proto.StateComplete {
				c.state[p].left++
			}
		}
	}
	var first []int32
	for j := range c.state {
		if c.state[j].prevs == 0 {
			first = append(first, int32(j))
		}
	}
	for _, j := range first {
		c.reach(j)
	}
}
