package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/job"
)

// Input is what there is to check.
type Input struct {
	Sequences []*spec.Sequence // of all files, in order
	Apps      []*spec.App
	// Registry has the job types that specs may use; nil: types are not checked.
	Registry *job.Registry
	// Warn has the names of the checks that only warn.
	Warn map[string]bool
}

// Set is all that specs have: the first of each name.
type Set struct {
	Sequences spec.Sequences
	Apps      []spec.App // by name
}

// Run makes all checks that come after decoding, whose problems are given so that no
// mistake is reported twice. It puts the nodes of the sequences in order.
func Run(in Input, decoding problem.List) (Set, problem.List) {
	c := newChecker(in, decoding)
	for _, s := range in.Sequences {
		c.addSequence(s)
	}
	for _, a := range in.Apps {
		c.addApp(a)
	}
	c.run()
	return c.Set, c.Problems
}

// checker runs the checks that come after decoding.
type checker struct {
	Set
	registry   *job.Registry
	warn       map[string]bool
	sequences  []*spec.Sequence // by name, duplicates left out
	duplicates []*spec.Sequence
	apps       map[string]*spec.App
	twiceApps  []*spec.App
	nodes      map[string][]*spec.Node    // by name of sequence: its nodes by name
	called     map[string][]*spec.Node    // by name of sequence: the nodes that call it
	flow       *flow                      // of the sequence that is being checked
	callable   []string                   // what a node can call; see names
	failed     map[spec.Pos]bool          // where decoding found a value of the wrong type
	provided   map[string]map[string]bool // by name of sequence; see provides
	suggest    *problem.Suggester
	problem.Collector
}

// failedAt reports whether decoding found a value of the wrong type on a line of
// the file of s. That something is missing there needs no second problem then.
func (c *checker) failedAt(s *spec.Sequence, line int) bool {
	return c.failed[spec.Pos{File: s.File, Line: line}]
}

func newChecker(in Input, decoding problem.List) *checker {
	c := &checker{
		Set: Set{Sequences: make(spec.Sequences, len(in.Sequences))}, registry: in.Registry, warn: in.Warn,
		apps: map[string]*spec.App{}, nodes: map[string][]*spec.Node{}, called: map[string][]*spec.Node{},
		failed: map[spec.Pos]bool{}, provided: map[string]map[string]bool{}, suggest: problem.NewSuggester(),
	}
	for _, p := range decoding {
		if p.Check == "wrong-type" {
			c.failed[spec.Pos{File: p.File, Line: p.Line}] = true
		}
	}
	return c
}

// addSequence takes a sequence in. The first of a name counts.
func (c *checker) addSequence(s *spec.Sequence) {
	if _, ok := c.Sequences[s.Name]; ok {
		c.duplicates = append(c.duplicates, s)
		return
	}
	c.Sequences[s.Name] = s
}

// run runs all checks, and orders the nodes of the sequences.
func (c *checker) run() {
	for _, name := range slices.Sorted(maps.Keys(c.Sequences)) {
		s := c.Sequences[name]
		c.sequences = append(c.sequences, s)
		c.nodes[name] = slices.SortedFunc(maps.Values(s.Nodes), func(a, b *spec.Node) int { return cmp.Compare(a.Name, b.Name) })
		for _, n := range c.nodes[name] {
			for _, callee := range n.Calls() {
				c.called[callee] = append(c.called[callee], n)
			}
		}
	}
	for i := range checks {
		if k := &checks[i]; k.specs != nil {
			k.specs(&pass{checker: c, check: k.Name})
		}
	}
	for _, s := range c.sequences {
		c.checkSequence(s)
	}
}

func (c *checker) checkSequence(s *spec.Sequence) {
	nodes := c.nodes[s.Name]
	if g := newGraph(s); g != nil {
		s.Order = g.nodes
		c.flow = newFlow(s, g)
	} else {
		c.flow = newFlowWithoutOrder(nodes, c.provides(s))
	}
	p := &pass{checker: c, seq: s}
	for i := range checks {
		k := &checks[i]
		p.check, p.node = k.Name, nil
		if k.sequence != nil {
			k.sequence(p, s)
		}
		if k.node == nil {
			continue
		}
		for _, n := range nodes {
			p.node = n
			k.node(p, s, n)
		}
	}
	for _, n := range nodes {
		c.setIdempotent(n)
	}
	s.DropFields()
}

// pass is one check at work on one place.
type pass struct {
	*checker
	check string
	seq   *spec.Sequence // nil in checks of all specs
	node  *spec.Node     // nil in checks of a sequence
}

// problem reports what is wrong, on a line of the file of the sequence.
func (p *pass) problem(line int, format string, args ...any) {
	x := problem.Problem{
		File: p.seq.File, Line: line, Check: p.check, Severity: Severity(p.check, p.warn),
		Sequence: p.seq.Name, Message: fmt.Sprintf(format, args...),
	}
	if p.node != nil {
		x.Node = p.node.Name
	}
	p.Add(x)
}

// on returns the pass for a node or, with a nil node, for a whole sequence.
func (p *pass) on(s *spec.Sequence, n *spec.Node) *pass {
	return &pass{checker: p.checker, check: p.check, seq: s, node: n}
}
