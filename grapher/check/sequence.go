package check

import (
	"slices"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/proto"
)

func checkDuplicateSequence(p *pass) {
	for _, s := range p.duplicates {
		first := p.Sequences[s.Name]
		p.on(s, nil).problem(s.Line, "the sequence is defined here and also at %s:%d", first.File, first.Line)
	}
}

func checkNames(p *pass, s *spec.Sequence) {
	p.name(s.Line, "a sequence", s.Name, proto.MaxSequenceName)
	for _, list := range s.Args.Lists() {
		for _, a := range list {
			p.name(a.Fields.Line("name", a.Line), "an arg", a.Name, proto.MaxArgName)
		}
	}
	for _, n := range p.nodes[s.Name] {
		p := p.on(s, n)
		p.name(n.Line, "a node", n.Name, proto.MaxNodeName)
		if n.Category == spec.CategoryJob && n.Type != "" {
			if err := proto.CheckJobType(n.Type, proto.MaxJobType); err != nil {
				p.problem(n.Fields.Line("type", n.Line), "the name of a job type %v%s", err, shown(n.Type))
			}
		}
		for _, a := range n.Args {
			if a.Expected != "" {
				p.name(a.Fields.Line("expected", a.Line), "an arg", a.Expected, proto.MaxArgName)
			}
		}
		for _, e := range n.Each {
			p.name(e.Line, "an arg", e.Element, proto.MaxArgName)
		}
		for _, set := range n.Sets {
			if set.As != "" {
				p.name(set.Fields.Line("as", set.Line), "an arg", set.As, proto.MaxArgName)
			}
		}
	}
}

// name reports what is wrong with the name of a thing.
func (p *pass) name(line int, what, name string, limit int) {
	if err := proto.CheckName(name, limit); err != nil {
		p.problem(line, "the name of %s %v%s", what, err, shown(name))
	}
}

func checkNoNodes(p *pass, s *spec.Sequence) {
	line := s.Fields.Line("nodes", s.Line)
	switch {
	case len(s.Nodes) > 0 || p.failedAt(s, line):
	case s.Fields.Has("nodes"):
		p.problem(line, "`nodes` is empty: a sequence needs at least one")
	default:
		p.problem(line, "the sequence has no `nodes`")
	}
}

func checkTimeout(p *pass, s *spec.Sequence) {
	if s.Fields.Has("timeout") && !s.Request {
		p.problem(s.Fields.Line("timeout", s.Line), "`timeout` limits a whole request, and the sequence is not a request: put it on the node that calls it, or set `request: true`")
	}
}

// aclOps are what an `acl` entry can allow.
var aclOps = []string{"start", "stop"}

func checkACLRole(p *pass, s *spec.Sequence) {
	for _, a := range s.ACL {
		if a.Role == "" {
			p.problem(a.Fields.Line("role", a.Line), "the `acl` entry has no `role`")
		}
	}
}

func checkACLDuplicate(p *pass, s *spec.Sequence) {
	first := map[string]int{}
	for _, a := range s.ACL {
		line := a.Fields.Line("role", a.Line)
		if before, ok := first[a.Role]; ok && a.Role != "" {
			p.problem(line, "role %s is here and also on line %d: put its ops together", problem.Quote(a.Role), before)
			continue
		}
		first[a.Role] = line
	}
}

func checkACLAdminOps(p *pass, s *spec.Sequence) {
	for _, a := range s.ACL {
		if a.Admin && len(a.Ops) > 0 {
			p.problem(a.Fields.Line("ops", a.Line), "role %s has `admin`, which is all ops: leave `ops` out", problem.Quote(a.Role))
		}
	}
}

func checkACLOp(p *pass, s *spec.Sequence) {
	for _, a := range s.ACL {
		for _, op := range a.Ops {
			if !slices.Contains(aclOps, op) {
				meant := p.suggest.Meant(op, aclOps)
				if meant == "" {
					meant = ": the ops are " + problem.QuoteAll(aclOps)
				}
				p.problem(a.Fields.Line("ops", a.Line), "unknown op %s%s", problem.Quote(op), meant)
			}
		}
	}
}

func checkUnusedSequence(p *pass, s *spec.Sequence) {
	if !s.Request && len(p.called[s.Name]) == 0 {
		p.problem(s.Line, "no node calls the sequence, and users cannot ask for it without `request: true`")
	}
}
