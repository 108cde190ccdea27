package grapher

import (
	"slices"
	"strings"
	"unicode"

	"github.com/treadle-run/treadle/job"
)

// The most bytes that names may have. They are columns of the database.
const (
	maxSequenceName = 75
	maxNodeName     = 100
	maxArgName      = 100
)

func checkDuplicateSequence(p *pass) {
	for _, s := range p.duplicates {
		p := p.on(s, nil)
		if s.Name == NoopSequence {
			p.problem(s.Line, "%s is the name of a built-in sequence: take another", quote(s.Name))
			continue
		}
		first := p.Sequences[s.Name]
		p.problem(s.Line, "the sequence is defined here and at %s:%d", first.File, first.Line)
	}
}

func checkNames(p *pass, s *Sequence) {
	p.name(s.Line, "a sequence", s.Name, maxSequenceName, "/")
	for _, list := range s.Args.lists() {
		for _, a := range list {
			p.name(a.fields.line("name", a.Line), "an arg", a.Name, maxArgName, "/")
		}
	}
	for _, n := range p.nodes[s.Name] {
		p := p.on(s, n)
		p.name(n.Line, "a node", n.Name, maxNodeName, "/")
		if n.Category == CategoryJob && n.Type != "" {
			p.name(n.fields.line("type", n.Line), "a job type", n.Type, job.MaxTypeLength, "")
		}
		for _, a := range n.Args {
			if a.Expected != "" {
				p.name(a.fields.line("expected", a.Line), "an arg", a.Expected, maxArgName, "/")
			}
		}
		for _, e := range n.Each {
			p.name(e.Line, "an arg", e.Element, maxArgName, "/")
		}
		for _, set := range n.Sets {
			if set.As != "" {
				p.name(set.fields.line("as", set.Line), "an arg", set.As, maxArgName, "/")
			}
		}
	}
}

// name checks the name of a thing.
func (p *pass) name(line int, what, name string, most int, forbidden string) {
	switch {
	case name == "":
		p.problem(line, "the name of %s is empty", what)
	case len(name) > most:
		p.problem(line, "the name of %s may have %d bytes, %s has %d", what, most, quote(name), len(name))
	case strings.ContainsFunc(name, unicode.IsControl):
		p.problem(line, "the name of %s has control characters: %s", what, quote(name))
	case forbidden != "" && strings.ContainsAny(name, forbidden):
		p.problem(line, "the name of %s must not have a slash: %s", what, quote(name))
	}
}

func checkNoNodes(p *pass, s *Sequence) {
	line := s.fields.line("nodes", s.Line)
	switch {
	case len(s.Nodes) > 0 || p.failedAt(s, line):
	case s.fields.has("nodes"):
		p.problem(line, "`nodes` is empty: a sequence needs at least one")
	default:
		p.problem(line, "the sequence has no `nodes`")
	}
}

func checkTimeout(p *pass, s *Sequence) {
	if s.fields.has("timeout") && !s.Request {
		p.problem(s.fields.line("timeout", s.Line), "`timeout` bounds a whole request, and the sequence is none: put it on the node that calls it, or set `request: true`")
	}
}

// aclOps are what an `acl` entry can allow.
var aclOps = []string{"start", "stop"}

func checkACLRole(p *pass, s *Sequence) {
	for _, a := range s.ACL {
		if a.Role == "" {
			p.problem(a.fields.line("role", a.Line), "the `acl` entry has no `role`")
		}
	}
}

func checkACLDuplicate(p *pass, s *Sequence) {
	first := map[string]int{}
	for _, a := range s.ACL {
		line := a.fields.line("role", a.Line)
		if before, ok := first[a.Role]; ok && a.Role != "" {
			p.problem(line, "role %s stands here and on line %d: put its ops together", quote(a.Role), before)
			continue
		}
		first[a.Role] = line
	}
}

func checkACLAdminOps(p *pass, s *Sequence) {
	for _, a := range s.ACL {
		if a.Admin && len(a.Ops) > 0 {
			p.problem(a.fields.line("ops", a.Line), "role %s has `admin`, which is all ops: leave `ops` out", quote(a.Role))
		}
	}
}

func checkACLOp(p *pass, s *Sequence) {
	for _, a := range s.ACL {
		for _, op := range a.Ops {
			if !slices.Contains(aclOps, op) {
				meant := p.suggest.meant(op, aclOps)
				if meant == "" {
					meant = ": the ops are " + quoteAll(aclOps)
				}
				p.problem(a.fields.line("ops", a.Line), "unknown op %s%s", quote(op), meant)
			}
		}
	}
}

func checkUnusedSequence(p *pass, s *Sequence) {
	if !s.Request && len(p.called[s.Name]) == 0 {
		p.problem(s.Line, "no node calls the sequence, and without `request: true` no user can ask for it")
	}
}
