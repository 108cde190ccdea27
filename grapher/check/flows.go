package check

import (
	"maps"
	"slices"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/grapher/spec"
)

func checkUnnamed(p *pass, _ *spec.Sequence, n *spec.Node) {
	for _, a := range n.Args {
		if a.Expected == "" {
			p.problem(a.Fields.Line("expected", a.Line), "the entry of `args` has no `expected`: the name that the %s knows the arg by", calleeWord(n))
		}
	}
	for _, s := range n.Sets {
		if s.Arg == "" {
			p.problem(s.Fields.Line("arg", s.Line), "the entry of `sets` has no `arg`: the name of what the %s sets", calleeWord(n))
		}
	}
}

func calleeWord(n *spec.Node) string {
	if n.Category == spec.CategoryJob {
		return "job"
	}
	return "sequence"
}

func checkGivenAndValue(p *pass, _ *spec.Sequence, n *spec.Node) {
	for _, a := range n.Args {
		if a.HasValue && a.Fields.Has("given") {
			p.problem(a.Fields.Line("value", a.Line), "arg %s has both `given` and `value`: only one can give it", problem.Quote(a.Expected))
		}
	}
}

func checkDuplicateExpected(p *pass, _ *spec.Sequence, n *spec.Node) {
	first := map[string]int{}
	for _, a := range n.Args {
		if before, ok := first[a.Expected]; ok && a.Expected != "" {
			p.problem(a.Line, "`expected: %s` is here and also on line %d", problem.Plain(a.Expected), before)
			continue
		}
		first[a.Expected] = a.Line
	}
}

func checkDuplicateAs(p *pass, _ *spec.Sequence, n *spec.Node) {
	first := map[string]int{}
	for _, s := range n.Sets {
		if before, ok := first[s.As]; ok && s.As != "" {
			p.problem(s.Line, "arg %s is set here and also on line %d", problem.Quote(s.As), before)
			continue
		}
		first[s.As] = s.Line
	}
}

func checkCollect(p *pass, _ *spec.Sequence, n *spec.Node) {
	for _, s := range n.Sets {
		if s.Collect && !n.Fields.Has("each") {
			p.problem(s.Fields.Line("collect", s.Line), "`collect` makes a list of what the expansions of `each` set, and the node has no `each`")
		}
	}
}

func checkArgNotSet(p *pass, s *spec.Sequence) {
	var known []string
	for _, u := range p.flow.unset {
		p := p.on(s, u.node)
		switch {
		case u.setter == u.node:
			p.problem(u.line, "arg %s is used by the node that sets it, and no earlier node sets it", problem.Quote(u.arg))
		case u.setter != nil:
			p.problem(u.line, "arg %s is set by node %s, which may run after this one: add %s to `deps`",
				problem.Quote(u.arg), problem.Quote(u.setter.Name), problem.Quote(u.setter.Name))
		default:
			if known == nil {
				known = slices.Sorted(maps.Keys(p.provides(s)))
			}
			p.problem(u.line, "arg %s is not set: it is not an arg of the sequence, and no earlier node sets it%s",
				problem.Quote(u.arg), p.suggest.Meant(u.arg, known))
		}
	}
}

// provides returns the args that are there once all nodes of the sequence are
// done: its own, and those that the nodes set.
func (c *checker) provides(s *spec.Sequence) map[string]bool {
	if names, ok := c.provided[s.Name]; ok {
		return names
	}
	names := map[string]bool{}
	for _, list := range s.Args.Lists() {
		for _, a := range list {
			names[a.Name] = true
		}
	}
	for _, n := range s.Nodes {
		for _, set := range n.Sets {
			names[set.As] = true
		}
	}
	c.provided[s.Name] = names
	return names
}

func checkParallelSets(p *pass, s *spec.Sequence) {
	for _, c := range p.flow.conflicts {
		p.on(s, c.node).problem(c.set.Line, "node %s sets arg %s too, and the two may run in parallel: make one depend on the other, or set another name with `as`",
			problem.Quote(c.other.Name), problem.Quote(c.set.As))
	}
}

func checkRedundantDep(p *pass, s *spec.Sequence) {
	for _, n := range p.nodes[s.Name] {
		seen := map[string]bool{}
		for i, dep := range n.Deps {
			if seen[dep] {
				p.on(s, n).problem(n.DepLine(i), "dep %s is listed twice", problem.Quote(dep))
			}
			seen[dep] = true
		}
	}
	for _, r := range p.flow.redundant {
		p.on(s, r.node).problem(r.node.DepLine(r.dep), "dep %s is implied by dep %s: leave it out", problem.Quote(r.node.Deps[r.dep]), problem.Quote(r.impliedBy))
	}
}

func checkRenamedTwice(p *pass, _ *spec.Sequence, n *spec.Node) {
	first := map[string]*spec.NodeArg{}
	for _, a := range n.Args {
		if a.Given == "" {
			continue
		}
		if before, ok := first[a.Given]; ok && before.Expected != a.Expected {
			p.problem(a.Line, "arg %s is given as %s here and as %s on line %d", problem.Quote(a.Given), problem.Quote(a.Expected), problem.Quote(before.Expected), before.Line)
			continue
		}
		first[a.Given] = a
	}
}

func checkEachAndGiven(p *pass, _ *spec.Sequence, n *spec.Node) {
	lists := map[string]bool{}
	for _, e := range n.Each {
		lists[e.List] = true
	}
	for _, a := range n.Args {
		if lists[a.Given] {
			p.problem(a.Fields.Line("given", a.Line), "list %s is expanded by `each` and given as a whole too", problem.Quote(a.Given))
		}
	}
}

// checkIfGiven warns where two args of one name meet: the one that `if` takes from the
// sequence wins.
func checkIfGiven(p *pass, s *spec.Sequence, n *spec.Node) {
	if n.If != "" && givesOwn(n, n.If) && p.provides(s)[n.If] {
		p.problem(givenLine(n, n.If), "`if` takes arg %s from the sequence, and it replaces the one that the node gives: use another name", problem.Quote(n.If))
	}
}

func checkEachSets(p *pass, _ *spec.Sequence, n *spec.Node) {
	for _, set := range n.Sets {
		if len(n.Each) > 0 && !set.Collect && set.As != "" {
			p.problem(set.Line, "all expansions of `each` set arg %s: creating a request fails if they set different values, and `collect: true` makes a list of them", problem.Quote(set.As))
		}
	}
}

func checkUnusedSet(p *pass, s *spec.Sequence) {
	used := map[string]bool{}
	for _, n := range s.Nodes {
		for _, u := range uses(n) {
			used[u.arg] = true
		}
	}
	for _, caller := range p.called[s.Name] {
		for _, set := range caller.Sets {
			used[set.Arg] = true
		}
	}
	for _, n := range p.nodes[s.Name] {
		for _, set := range n.Sets {
			if set.As != "" && !used[set.As] {
				p.on(s, n).problem(set.Fields.Line("as", set.Line), "arg %s is set and never used", problem.Quote(set.As))
			}
		}
	}
}
