package check

import (
	"strings"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/grapher/spec"
)

var categories = []string{string(spec.CategoryJob), string(spec.CategorySequence), string(spec.CategoryConditional)}

func checkCategory(p *pass, _ *spec.Sequence, n *spec.Node) {
	switch n.Category {
	case spec.CategoryJob, spec.CategorySequence, spec.CategoryConditional:
	case "":
		if !p.failedAt(p.seq, n.Fields.Line("category", n.Line)) {
			p.problem(n.Fields.Line("category", n.Line), "the node has no `category`: it is one of %s", problem.QuoteAll(categories))
		}
	default:
		meant := p.suggest.Meant(string(n.Category), categories)
		if meant == "" {
			meant = ": it is one of " + problem.QuoteAll(categories)
		}
		p.problem(n.Fields.Line("category", n.Line), "unknown category %s%s", problem.Quote(string(n.Category)), meant)
	}
}

func checkType(p *pass, _ *spec.Sequence, n *spec.Node) {
	line := n.Fields.Line("type", n.Line)
	switch {
	case n.Category == spec.CategoryConditional && n.Fields.Has("type"):
		p.problem(line, "a conditional has no `type`: list the sequences that it may call in `eq`")
	case n.Type != "" || p.failedAt(p.seq, line):
	case n.Category == spec.CategoryJob:
		p.problem(line, "the node has no `type`: the job type to run")
	case n.Category == spec.CategorySequence:
		p.problem(line, "the node has no `type`: the name of the sequence to call")
	}
}

func checkConditional(p *pass, _ *spec.Sequence, n *spec.Node) {
	for _, field := range []string{"if", "eq"} {
		line := n.Fields.Line(field, n.Line)
		switch {
		case n.Category == spec.CategoryConditional && (field == "if" && n.If == "" || field == "eq" && len(n.Eq) == 0):
			if !p.failedAt(p.seq, line) {
				p.problem(line, "a conditional needs `%s`: %s", field, map[string]string{
					"if": "the arg to compare", "eq": "the sequence to call for each value"}[field])
			}
		case (n.Category == spec.CategoryJob || n.Category == spec.CategorySequence) && n.Fields.Has(field):
			p.problem(line, "`%s` is for nodes with `category: conditional`, and this is a %s", field, n.Category)
		}
	}
}

func checkJobType(p *pass, _ *spec.Sequence, n *spec.Node) {
	if p.registry == nil || n.Category != spec.CategoryJob || n.Type == "" || p.registry.Has(n.Type) {
		return
	}
	types := p.registry.Types()
	meant := p.suggest.Meant(n.Type, types)
	if meant == "" {
		meant = ": this program knows " + problem.QuoteAll(types)
	}
	p.problem(n.Fields.Line("type", n.Line), "unknown job type %s%s", problem.Quote(n.Type), meant)
}

func checkUnknownDep(p *pass, s *spec.Sequence, n *spec.Node) {
	var names []string
	for i, dep := range n.Deps {
		if _, ok := s.Nodes[dep]; ok {
			continue
		}
		if names == nil && p.suggest.CanCompare(len(s.Nodes)) {
			for _, m := range p.nodes[s.Name] {
				if m != n {
					names = append(names, m.Name)
				}
			}
		}
		p.problem(n.DepLine(i), "unknown dep %s: the sequence has no such node%s", problem.Quote(dep), p.suggest.Meant(dep, names))
	}
}

func checkDepCycle(p *pass, s *spec.Sequence) {
	nodes := p.nodes[s.Name]
	place := make(map[string]int, len(nodes))
	for i, n := range nodes {
		place[n.Name] = i
	}
	next := func(i int) []int {
		var deps []int
		for _, dep := range nodes[i].Deps {
			if j, ok := place[dep]; ok {
				deps = append(deps, j)
			}
		}
		return deps
	}
	for _, cycle := range cycles(len(nodes), next) {
		n := nodes[cycle[0]]
		names := make([]string, len(cycle))
		for i, v := range cycle {
			names[i] = nodes[v].Name
		}
		p.on(s, n).problem(n.Fields.Line("deps", n.Line), "deps form a cycle: %s", showCycle(names))
	}
}

// showCycle returns "`a` -> `b` -> `a`".
func showCycle(names []string) string {
	const limit = 10
	var b strings.Builder
	for i, name := range names {
		if i == limit {
			b.WriteString("... -> ")
			break
		}
		b.WriteString(problem.Quote(name) + " -> ")
	}
	return b.String() + problem.Quote(names[0])
}

func checkEachElement(p *pass, _ *spec.Sequence, n *spec.Node) {
	expected := map[string]bool{}
	for _, a := range n.Args {
		expected[a.Expected] = true
	}
	seen := map[string]bool{}
	for _, e := range n.Each {
		switch {
		case seen[e.Element]:
			p.problem(e.Line, "element %s is used twice in `each`", problem.Quote(e.Element))
		case expected[e.Element]:
			p.problem(e.Line, "%s is an element of `each` and an `expected` of `args`: only one can give it", problem.Quote(e.Element))
		}
		seen[e.Element] = true
	}
}

// checkEachList holds the args of the sequence that `each` expands to being lists.
func checkEachList(p *pass, s *spec.Sequence, n *spec.Node) {
	for _, e := range n.Each {
		if a, ok := s.Arg(e.List); ok && a.Type != "" && a.Type != "list" {
			p.problem(e.Line, "`each` expands a list, and the type of arg %s is %s", problem.Quote(e.List), a.Type)
		}
	}
}

func checkParallel(p *pass, _ *spec.Sequence, n *spec.Node) {
	if n.Fields.Has("parallel") && !n.Fields.Has("each") {
		p.problem(n.Fields.Line("parallel", n.Line), "`parallel` limits the expansions of `each`, and the node has no `each`")
	}
}

func checkRetryWait(p *pass, _ *spec.Sequence, n *spec.Node) {
	if n.Fields.Has("retryWait") && n.RetryWait > 0 && n.Retry == 0 && !p.failedAt(p.seq, n.Fields.Line("retry", n.Line)) {
		p.problem(n.Fields.Line("retryWait", n.Line), "`retryWait` has no effect without `retry`")
	}
}

func checkRetryBackoff(p *pass, _ *spec.Sequence, n *spec.Node) {
	backoff, waitMax := n.Fields.Line("retryBackoff", n.Line), n.Fields.Line("retryWaitMax", n.Line)
	if n.Fields.Has("retryBackoff") && !n.Fields.Has("retryWait") {
		p.problem(backoff, "`retryBackoff` multiplies `retryWait`, and the node has no `retryWait`")
	}
	switch {
	case !n.Fields.Has("retryWaitMax"):
	case !n.Fields.Has("retryBackoff"):
		p.problem(waitMax, "`retryWaitMax` limits the wait that `retryBackoff` multiplies, and the node has no `retryBackoff`")
	case n.RetryWaitMax > 0 && n.RetryWaitMax < n.RetryWait:
		p.problem(waitMax, "`retryWaitMax` (%s) is less than `retryWait` (%s)", n.RetryWaitMax, n.RetryWait)
	}
}

func checkIdempotent(p *pass, _ *spec.Sequence, n *spec.Node) {
	if n.Fields.Has("idempotent") && n.Category != spec.CategoryJob {
		p.problem(n.Fields.Line("idempotent", n.Line), "`idempotent` is for jobs: put it on the job nodes that the sequence has")
	}
}
