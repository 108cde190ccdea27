package check

import (
	"errors"
	"strconv"
	"strings"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/job"
)

// declaration returns what the job type of the node declares, and false if it declares
// nothing or the node is not a job.
func (c *checker) declaration(n *spec.Node) (*job.Declaration, bool) {
	if c.registry == nil || n.Category != spec.CategoryJob {
		return nil, false
	}
	return c.registry.Declaration(n.Type)
}

// checkJobArg holds the args of a job to what its type declares: that those which it
// requires are given, and the values that stand in the specs.
func checkJobArg(p *pass, _ *spec.Sequence, n *spec.Node) {
	d, ok := p.declaration(n)
	if !ok {
		return
	}
	args := job.Values{}
	for _, e := range n.Each {
		args[e.Element] = job.Unknown
	}
	var strange []string // names that may be misspelt
	for _, a := range n.Args {
		if a.Expected == "" {
			continue // another check has it
		}
		args[a.Expected] = job.Unknown
		if a.HasValue {
			args[a.Expected] = a.Value
		}
		if _, ok := d.Arg(a.Expected); !ok {
			strange = append(strange, a.Expected)
		}
	}
	for _, err := range d.Mistakes(args) {
		p.jobMistake(n, args, strange, err)
	}
}

// checkUnknownArg finds args that the job type does not take. The elements of an each
// are no mistake: a node cannot leave one out.
func checkUnknownArg(p *pass, _ *spec.Sequence, n *spec.Node) {
	d, ok := p.declaration(n)
	if !ok || d.Others != "" {
		return
	}
	for _, a := range n.Args {
		if _, ok := d.Arg(a.Expected); !ok && a.Expected != "" {
			p.unknownArg(n, d, a)
		}
	}
}

func (p *pass) unknownArg(n *spec.Node, d *job.Declaration, a *spec.NodeArg) {
	meant := p.suggest.Meant(a.Expected, d.Names())
	switch {
	case meant != "":
	case len(d.Args) == 0:
		meant = ": it takes no args"
	default:
		meant = ": it takes " + problem.QuoteAll(d.Names())
	}
	p.problem(a.Fields.Line("expected", a.Line), "job type %s does not take arg %s%s", problem.Quote(n.Type), problem.Quote(a.Expected), meant)
}

// jobMistake reports what a job type finds wrong with its args.
func (p *pass) jobMistake(n *spec.Node, args job.Values, strange []string, err error) {
	wrong, ok := errors.AsType[*job.ArgError](err)
	if !ok {
		p.problem(n.Fields.Line("args", n.Line), "job type %s: %s", problem.Quote(n.Type), oneLine(err.Error()))
		return
	}
	if _, given := args[wrong.Arg]; !given {
		p.problem(n.Fields.Line("args", n.Line), "job type %s requires arg %s, and the node does not give it%s",
			problem.Quote(n.Type), problem.Quote(wrong.Arg), p.suggest.MeantBy(wrong.Arg, strange))
		return
	}
	line := givenLine(n, wrong.Arg)
	for _, a := range n.Args {
		if a.Expected == wrong.Arg && a.HasValue {
			line = a.Fields.Line("value", a.Line)
		}
	}
	p.problem(line, "arg %s of job type %s: %s", problem.Quote(wrong.Arg), problem.Quote(n.Type), oneLine(wrong.Message))
}

// oneLine returns a message of a job type without control characters, which may come
// from the spec.
func oneLine(message string) string {
	if strings.ContainsFunc(message, func(r rune) bool { return !strconv.IsPrint(r) }) {
		quoted := strconv.Quote(message)
		return quoted[1 : len(quoted)-1]
	}
	return message
}

// checkJobDefault warns of defaults that a job cannot be created with. A request that is
// given another value can, so it is no error.
func checkJobDefault(p *pass, s *spec.Sequence, n *spec.Node) {
	d, ok := p.declaration(n)
	if !ok {
		return
	}
	for _, a := range n.Args {
		declared, ok := d.Arg(a.Expected)
		from, own := s.Arg(a.Given)
		if a.HasValue || !ok || !own || !from.HasDefault || from.Secret || p.isSet(s, a.Given) {
			continue
		}
		if from.Default == nil || from.Default == "" {
			continue // not given
		}
		if _, err := declared.Accept(from.Default); err != nil {
			p.problem(a.Fields.Line("given", a.Line), "the default of arg %s, given to job type %s as %s: %s",
				problem.Quote(a.Given), problem.Quote(n.Type), problem.Quote(a.Expected), err)
		}
	}
}

// isSet reports whether a node of the sequence sets the arg.
func (p *pass) isSet(s *spec.Sequence, name string) bool {
	for _, n := range p.nodes[s.Name] {
		for _, set := range n.Sets {
			if set.As == name {
				return true
			}
		}
	}
	return false
}

// checkJobSets holds the `sets` of a job node to what its type sets.
func checkJobSets(p *pass, n *spec.Node) {
	d, ok := p.declaration(n)
	if !ok || len(n.Sets) == 0 {
		return
	}
	has := gives(n)
	var names []string
	for i := range d.Sets {
		has[d.Sets[i].Name] = true
		names = append(names, d.Sets[i].Name)
	}
	for _, set := range n.Sets {
		if set.Arg == "" || has[set.Arg] {
			continue
		}
		meant := p.suggest.Meant(set.Arg, names)
		switch {
		case meant != "":
		case len(names) == 0:
			meant = ": it sets none"
		default:
			meant = ": it sets " + problem.QuoteAll(names)
		}
		p.problem(set.Fields.Line("arg", set.Line), "job type %s does not set arg %s%s", problem.Quote(n.Type), problem.Quote(set.Arg), meant)
	}
}

// setIdempotent lets the job type answer for a node that does not say `idempotent`.
func (c *checker) setIdempotent(n *spec.Node) {
	if d, ok := c.declaration(n); ok && d.Repeat == job.RepeatUnsafe && !n.Fields.Has("idempotent") {
		n.Idempotent = false
	}
}
