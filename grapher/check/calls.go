package check

import (
	"maps"
	"slices"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/grapher/spec"
)

// call is a sequence that a node may call. Value is the value of a conditional
// that chooses it.
type call struct {
	name, value string
	line        int
}

// calls returns what the node may call, in the order of values.
func calls(n *spec.Node) []call {
	switch n.Category {
	case spec.CategorySequence:
		if n.Type != "" {
			return []call{{name: n.Type, line: n.Fields.Line("type", n.Line)}}
		}
	case spec.CategoryConditional:
		var calls []call
		for _, value := range slices.Sorted(maps.Keys(n.Eq)) {
			calls = append(calls, call{n.Eq[value], value, n.EqLine(value)})
		}
		return calls
	case spec.CategoryJob:
	}
	return nil
}

// callees returns the sequences that the node may call and that exist, each
// once, without the built-in one.
func (p *pass) callees(n *spec.Node) []*spec.Sequence {
	var callees []*spec.Sequence
	seen := map[string]bool{}
	for _, c := range calls(n) {
		if s, ok := p.Sequences[c.name]; ok && !seen[c.name] {
			seen[c.name] = true
			callees = append(callees, s)
		}
	}
	return callees
}

func checkCalls(p *pass, _ *spec.Sequence, n *spec.Node) {
	for _, c := range calls(n) {
		if c.name == "" || c.name == spec.NoopSequence || p.Sequences[c.name] != nil {
			continue
		}
		p.problem(c.line, "unknown sequence %s%s", problem.Quote(c.name), p.suggest.Meant(c.name, p.names()))
	}
}

// names returns what a node can call.
func (c *checker) names() []string {
	if c.callable == nil {
		if c.Sequences[spec.NoopSequence] == nil {
			c.callable = append(c.callable, spec.NoopSequence)
		}
		for _, s := range c.sequences {
			c.callable = append(c.callable, s.Name)
		}
	}
	return c.callable
}

func checkCallCycle(p *pass) {
	place := make(map[string]int, len(p.sequences))
	for i, s := range p.sequences {
		place[s.Name] = i
	}
	next := func(i int) []int {
		var called []int
		for _, n := range p.nodes[p.sequences[i].Name] {
			for _, c := range calls(n) {
				if j, ok := place[c.name]; ok {
					called = append(called, j)
				}
			}
		}
		return called
	}
	for _, cycle := range cycles(len(p.sequences), next) {
		s := p.sequences[cycle[0]]
		names := make([]string, len(cycle))
		for i, v := range cycle {
			names[i] = p.sequences[v].Name
		}
		n, line := p.caller(s, names[1%len(names)])
		p.on(s, n).problem(line, "sequences call each other in a cycle: %s", showCycle(names))
	}
}

// caller returns the first node of s that may call the sequence of that name, with
// the line.
func (p *pass) caller(s *spec.Sequence, name string) (*spec.Node, int) {
	for _, n := range p.nodes[s.Name] {
		for _, c := range calls(n) {
			if c.name == name {
				return n, c.line
			}
		}
	}
	return nil, s.Line
}

// gives returns the args that the node gives to what it calls.
func gives(n *spec.Node) map[string]bool {
	given := map[string]bool{}
	for _, a := range n.Args {
		given[a.Expected] = true
	}
	for _, e := range n.Each {
		given[e.Element] = true
	}
	if n.If != "" {
		given[n.If] = true
	}
	return given
}

func checkMissingArg(p *pass, _ *spec.Sequence, n *spec.Node) {
	given := gives(n)
	for _, callee := range p.callees(n) {
		for _, a := range callee.Args.Required {
			if a.Name != "" && !given[a.Name] {
				p.problem(n.Fields.Line("args", n.Line), "sequence %s requires arg %s, and the node does not give it", problem.Quote(callee.Name), problem.Quote(a.Name))
			}
		}
	}
}

func checkBadValue(p *pass, _ *spec.Sequence, n *spec.Node) {
	for _, callee := range p.callees(n) {
		for _, a := range n.Args {
			taker, ok := callee.Arg(a.Expected)
			if !ok || !a.HasValue {
				continue
			}
			if _, err := taker.Accept(a.Value); err != nil {
				p.problem(a.Fields.Line("value", a.Line), "arg %s of sequence %s %s", problem.Quote(a.Expected), problem.Quote(callee.Name), err)
			}
		}
	}
}

func checkExtraArg(p *pass, _ *spec.Sequence, n *spec.Node) {
	callees := p.callees(n)
	if len(callees) == 0 {
		return
	}
	for _, a := range n.Args {
		p.extraArg(a.Fields.Line("expected", a.Line), a.Expected, callees)
	}
	for _, e := range n.Each {
		p.extraArg(e.Line, e.Element, callees)
	}
}

// extraArg reports an arg that none of the callees takes.
func (p *pass) extraArg(line int, name string, callees []*spec.Sequence) {
	if name == "" {
		return
	}
	names := make([]string, len(callees))
	for i, s := range callees {
		if names[i] = s.Name; hasArg(s, name) {
			return
		}
	}
	p.problem(line, "sequence %s does not take arg %s%s", problem.QuoteAll(names), problem.Quote(name), p.suggest.Meant(name, argNames(callees)))
}

func hasArg(s *spec.Sequence, name string) bool {
	_, ok := s.Arg(name)
	return ok
}

// checkStaticGiven warns of static args that the caller replaces. What `if` compares
// goes to every callee unasked, so a static arg of that name is replaced, too.
func checkStaticGiven(p *pass, _ *spec.Sequence, n *spec.Node) {
	given := gives(n)
	for _, callee := range p.callees(n) {
		for _, a := range callee.Args.Static {
			if given[a.Name] {
				p.problem(givenLine(n, a.Name), "the node gives arg %s of sequence %s, which is static there: the value that is given wins; make the arg optional, or do not give it",
					problem.Quote(a.Name), problem.Quote(callee.Name))
			}
		}
	}
}

// givenLine returns the line where the node gives an arg to what it calls.
func givenLine(n *spec.Node, name string) int {
	for _, a := range n.Args {
		if a.Expected == name {
			return a.Fields.Line("expected", a.Line)
		}
	}
	for _, e := range n.Each {
		if e.Element == name {
			return e.Line
		}
	}
	return n.Fields.Line("if", n.Line)
}

func argNames(sequences []*spec.Sequence) []string {
	var names []string
	for _, s := range sequences {
		for _, list := range [][]*spec.Arg{s.Args.Required, s.Args.Optional} {
			for _, a := range list {
				names = append(names, a.Name)
			}
		}
	}
	return names
}

func checkMissingSet(p *pass, _ *spec.Sequence, n *spec.Node) {
	if n.Category == spec.CategoryJob {
		checkJobSets(p, n)
		return
	}
	if len(n.Sets) == 0 {
		return
	}
	var known []string // what the callees set, for a suggestion
	lacking := map[string][]string{}
	lacks := func(name string, has map[string]bool) {
		for _, set := range n.Sets {
			if !has[set.Arg] {
				lacking[set.Arg] = append(lacking[set.Arg], name)
			}
		}
	}
	for _, s := range p.callees(n) {
		has := p.provides(s)
		if lacks(s.Name, has); len(lacking) > 0 {
			known = slices.AppendSeq(known, maps.Keys(has))
		}
	}
	if p.Sequences[spec.NoopSequence] == nil && slices.Contains(n.Calls(), spec.NoopSequence) {
		lacks(spec.NoopSequence, nil)
	}
	for _, set := range n.Sets {
		if names := lacking[set.Arg]; len(names) > 0 && set.Arg != "" {
			p.problem(set.Fields.Line("arg", set.Line), "sequence %s, which the node may call, does not set arg %s%s",
				problem.QuoteAll(names), problem.Quote(set.Arg), p.suggest.Meant(set.Arg, known))
		}
	}
}
