package grapher

import (
	"maps"
	"slices"
)

func checkUnnamed(p *pass, _ *Sequence, n *Node) {
	for _, a := range n.Args {
		if a.Expected == "" {
			p.problem(a.fields.line("expected", a.Line), "the entry of `args` has no `expected`: the name that the %s knows the arg by", calleeWord(n))
		}
	}
	for _, s := range n.Sets {
		if s.Arg == "" {
			p.problem(s.fields.line("arg", s.Line), "the entry of `sets` has no `arg`: the name of what the %s sets", calleeWord(n))
		}
	}
}

func calleeWord(n *Node) string {
	if n.Category == CategoryJob {
		return "job"
	}
	return "sequence"
}

func checkGivenAndValue(p *pass, _ *Sequence, n *Node) {
	for _, a := range n.Args {
		if a.HasValue && a.fields.has("given") {
			p.problem(a.fields.line("value", a.Line), "arg %s has both `given` and `value`: only one can give it", quote(a.Expected))
		}
	}
}

func checkDuplicateExpected(p *pass, _ *Sequence, n *Node) {
	first := map[string]int{}
	for _, a := range n.Args {
		if before, ok := first[a.Expected]; ok && a.Expected != "" {
			p.problem(a.Line, "`expected: %s` stands here and on line %d", plain(a.Expected), before)
			continue
		}
		first[a.Expected] = a.Line
	}
}

func checkDuplicateAs(p *pass, _ *Sequence, n *Node) {
	first := map[string]int{}
	for _, s := range n.Sets {
		if before, ok := first[s.As]; ok && s.As != "" {
			p.problem(s.Line, "arg %s is set here and on line %d", quote(s.As), before)
			continue
		}
		first[s.As] = s.Line
	}
}

func checkCollect(p *pass, _ *Sequence, n *Node) {
	for _, s := range n.Sets {
		if s.Collect && !n.fields.has("each") {
			p.problem(s.fields.line("collect", s.Line), "`collect` makes a list of what the expansions of `each` set, and the node has none")
		}
	}
}

func checkArgNotSet(p *pass, s *Sequence) {
	var known []string
	for _, u := range p.flow.unset {
		p := p.on(s, u.node)
		switch {
		case u.setter == u.node:
			p.problem(u.line, "arg %s is used by the node that sets it, and nothing sets it before", quote(u.arg))
		case u.setter != nil:
			p.problem(u.line, "arg %s is set by node %s, which need not come before this one: add %s to `deps`",
				quote(u.arg), quote(u.setter.Name), quote(u.setter.Name))
		default:
			if known == nil {
				known = slices.Sorted(maps.Keys(p.provides(s)))
			}
			p.problem(u.line, "arg %s is not set: it is no arg of the sequence, and no node before sets it%s",
				quote(u.arg), p.suggest.meant(u.arg, known))
		}
	}
}

// provides returns the args that are there once all nodes of the sequence are
// done: its own, and those that the nodes set.
func (c *checker) provides(s *Sequence) map[string]bool {
	if names, ok := c.provided[s.Name]; ok {
		return names
	}
	names := map[string]bool{}
	for _, list := range s.Args.lists() {
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

func checkParallelSets(p *pass, s *Sequence) {
	for _, c := range p.flow.conflicts {
		p.on(s, c.node).problem(c.set.Line, "node %s sets arg %s too, and the two may run in parallel: make one depend on the other, or set another name with `as`",
			quote(c.other.Name), quote(c.set.As))
	}
}

func checkRedundantDep(p *pass, s *Sequence) {
	for _, n := range p.nodes[s.Name] {
		seen := map[string]bool{}
		for i, dep := range n.Deps {
			if seen[dep] {
				p.on(s, n).problem(n.depLine(i), "dep %s stands there twice", quote(dep))
			}
			seen[dep] = true
		}
	}
	for _, r := range p.flow.redundant {
		p.on(s, r.node).problem(r.node.depLine(r.dep), "dep %s is implied by dep %s: leave it out", quote(r.node.Deps[r.dep]), quote(r.impliedBy))
	}
}

func checkRenamedTwice(p *pass, _ *Sequence, n *Node) {
	first := map[string]*NodeArg{}
	for _, a := range n.Args {
		if a.Given == "" {
			continue
		}
		if before, ok := first[a.Given]; ok && before.Expected != a.Expected {
			p.problem(a.Line, "arg %s is given as %s here and as %s on line %d", quote(a.Given), quote(a.Expected), quote(before.Expected), before.Line)
			continue
		}
		first[a.Given] = a
	}
}

func checkEachAndGiven(p *pass, _ *Sequence, n *Node) {
	lists := map[string]bool{}
	for _, e := range n.Each {
		lists[e.List] = true
	}
	for _, a := range n.Args {
		if lists[a.Given] {
			p.problem(a.fields.line("given", a.Line), "list %s is expanded by `each` and given as a whole too", quote(a.Given))
		}
	}
}

func checkUnusedSet(p *pass, s *Sequence) {
	used := map[string]bool{}
	for _, n := range s.Nodes {
		for _, u := range n.uses() {
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
				p.on(s, n).problem(set.fields.line("as", set.Line), "arg %s is set and never used", quote(set.As))
			}
		}
	}
}
