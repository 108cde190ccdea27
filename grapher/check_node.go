package grapher

import "strings"

var categories = []string{string(CategoryJob), string(CategorySequence), string(CategoryConditional)}

func checkCategory(p *pass, _ *Sequence, n *Node) {
	switch n.Category {
	case CategoryJob, CategorySequence, CategoryConditional:
	case "":
		if !p.failedAt(p.seq, n.fields.line("category", n.Line)) {
			p.problem(n.fields.line("category", n.Line), "the node has no `category`: it is one of %s", quoteAll(categories))
		}
	default:
		meant := p.suggest.meant(string(n.Category), categories)
		if meant == "" {
			meant = ": it is one of " + quoteAll(categories)
		}
		p.problem(n.fields.line("category", n.Line), "unknown category %s%s", quote(string(n.Category)), meant)
	}
}

func checkType(p *pass, _ *Sequence, n *Node) {
	line := n.fields.line("type", n.Line)
	switch {
	case n.Category == CategoryConditional && n.fields.has("type"):
		p.problem(line, "a conditional has no `type`: the sequences that it may call stand in `eq`")
	case n.Type != "" || p.failedAt(p.seq, line):
	case n.Category == CategoryJob:
		p.problem(line, "the node has no `type`: the job type to run")
	case n.Category == CategorySequence:
		p.problem(line, "the node has no `type`: the name of the sequence to call")
	}
}

func checkConditional(p *pass, _ *Sequence, n *Node) {
	for _, field := range []string{"if", "eq"} {
		line := n.fields.line(field, n.Line)
		switch {
		case n.Category == CategoryConditional && (field == "if" && n.If == "" || field == "eq" && len(n.Eq) == 0):
			if !p.failedAt(p.seq, line) {
				p.problem(line, "a conditional needs `%s`: %s", field, map[string]string{
					"if": "the arg to compare", "eq": "the sequence to call for each value"}[field])
			}
		case (n.Category == CategoryJob || n.Category == CategorySequence) && n.fields.has(field):
			p.problem(line, "`%s` is for nodes with `category: conditional`, and this is a %s", field, n.Category)
		}
	}
}

func checkJobType(p *pass, _ *Sequence, n *Node) {
	if p.registry == nil || n.Category != CategoryJob || n.Type == "" || p.registry.Has(n.Type) {
		return
	}
	types := p.registry.Types()
	meant := p.suggest.meant(n.Type, types)
	if meant == "" {
		meant = ": this program knows " + quoteAll(types)
	}
	p.problem(n.fields.line("type", n.Line), "unknown job type %s%s", quote(n.Type), meant)
}

func checkUnknownDep(p *pass, s *Sequence, n *Node) {
	var names []string
	for i, dep := range n.Deps {
		if _, ok := s.Nodes[dep]; ok {
			continue
		}
		if names == nil && p.suggest.canCompare(len(s.Nodes)) {
			for _, m := range p.nodes[s.Name] {
				if m != n {
					names = append(names, m.Name)
				}
			}
		}
		p.problem(n.depLine(i), "unknown dep %s: the sequence has no such node%s", quote(dep), p.suggest.meant(dep, names))
	}
}

// depLine returns the line of a dep.
func (n *Node) depLine(i int) int {
	if i < len(n.depLines) {
		return int(n.depLines[i])
	}
	return n.Line
}

func checkDepCircle(p *pass, s *Sequence) {
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
	for _, circle := range circles(len(nodes), next) {
		n := nodes[circle[0]]
		names := make([]string, len(circle))
		for i, v := range circle {
			names[i] = nodes[v].Name
		}
		p.on(s, n).problem(n.fields.line("deps", n.Line), "deps go in a circle: %s", showCircle(names))
	}
}

// showCircle returns "`a` -> `b` -> `a`".
func showCircle(names []string) string {
	const most = 10
	var b strings.Builder
	for i, name := range names {
		if i == most {
			b.WriteString("... -> ")
			break
		}
		b.WriteString(quote(name) + " -> ")
	}
	return b.String() + quote(names[0])
}

func checkEachElement(p *pass, _ *Sequence, n *Node) {
	expected := map[string]bool{}
	for _, a := range n.Args {
		expected[a.Expected] = true
	}
	seen := map[string]bool{}
	for _, e := range n.Each {
		switch {
		case seen[e.Element]:
			p.problem(e.Line, "element %s is used twice in `each`", quote(e.Element))
		case expected[e.Element]:
			p.problem(e.Line, "%s is an element of `each` and an `expected` of `args`: only one can give it", quote(e.Element))
		}
		seen[e.Element] = true
	}
}

func checkParallel(p *pass, _ *Sequence, n *Node) {
	if n.fields.has("parallel") && !n.fields.has("each") {
		p.problem(n.fields.line("parallel", n.Line), "`parallel` bounds the expansions of `each`, and the node has none")
	}
}

func checkRetryWait(p *pass, _ *Sequence, n *Node) {
	if n.fields.has("retryWait") && n.RetryWait > 0 && n.Retry == 0 && !p.failedAt(p.seq, n.fields.line("retry", n.Line)) {
		p.problem(n.fields.line("retryWait", n.Line), "`retryWait` has no effect without `retry`")
	}
}

func checkRetryBackoff(p *pass, _ *Sequence, n *Node) {
	backoff, most := n.fields.line("retryBackoff", n.Line), n.fields.line("retryWaitMax", n.Line)
	if n.fields.has("retryBackoff") && !n.fields.has("retryWait") {
		p.problem(backoff, "`retryBackoff` multiplies `retryWait`, and the node has none")
	}
	switch {
	case !n.fields.has("retryWaitMax"):
	case !n.fields.has("retryBackoff"):
		p.problem(most, "`retryWaitMax` bounds what `retryBackoff` makes of the wait, and the node has none")
	case n.RetryWaitMax > 0 && n.RetryWaitMax < n.RetryWait:
		p.problem(most, "`retryWaitMax` (%s) is less than `retryWait` (%s)", n.RetryWaitMax, n.RetryWait)
	}
}

func checkIdempotent(p *pass, _ *Sequence, n *Node) {
	if n.fields.has("idempotent") && n.Category != CategoryJob {
		p.problem(n.fields.line("idempotent", n.Line), "`idempotent` is for jobs: put it on the job nodes that the sequence has")
	}
}
