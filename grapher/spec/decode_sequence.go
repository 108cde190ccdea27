package spec

import (
	"fmt"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/treadle-run/treadle/grapher/problem"
)

func (d *decoder) decodeSequences(n *yaml.Node) {
	twice := func(e entry, first int) {
		d.sequence = e.key
		d.report("duplicate-sequence", e.line, "the sequence is defined here and also at %s:%d", d.name, first)
		d.sequence = ""
	}
	for _, e := range d.entriesOnce(n, "`sequences`", twice) {
		d.sequence = e.key
		s := &Sequence{Name: e.key, Pos: Pos{d.name, e.line}, Nodes: map[string]*Node{}}
		if isNull(e.value) {
			d.report("wrong-type", e.line, "the sequence is null: it needs `nodes`")
		} else {
			s.Fields = decodeFields(d, e.value, sequenceFields, "a sequence", s)
		}
		d.sequences = append(d.sequences, s) // even if it is null: others may call it
		d.sequence = ""
	}
}

var sequenceFields = []field[Sequence]{
	{"request", func(d *decoder, e entry, s *Sequence) { s.Request = d.boolean(e) }},
	{"args", func(d *decoder, e entry, s *Sequence) {
		decodeFields(d, e.value, argsFields, "`args` of a sequence", &s.Args)
	}},
	{"acl", func(d *decoder, e entry, s *Sequence) { s.ACL = d.decodeACL(e) }},
	{"nodes", func(d *decoder, e entry, s *Sequence) { d.decodeNodes(e, s) }},
	{"timeout", func(d *decoder, e entry, s *Sequence) { s.Timeout = d.duration(e, "timeout") }},
}

var argsFields = []field[SequenceArgs]{
	{"required", func(d *decoder, e entry, a *SequenceArgs) { a.Required = d.decodeArgs(e) }},
	{"optional", func(d *decoder, e entry, a *SequenceArgs) { a.Optional = d.decodeArgs(e) }},
	{"static", func(d *decoder, e entry, a *SequenceArgs) { a.Static = d.decodeArgs(e) }},
}

// argDecl is an arg with the parts that can only be read once its type is known.
type argDecl struct {
	Arg
	defaultNode *yaml.Node
	enumNodes   []*yaml.Node
}

var argFields = []field[argDecl]{
	{"name", func(d *decoder, e entry, a *argDecl) { a.Name = d.text(e) }},
	{"desc", func(d *decoder, e entry, a *argDecl) { a.Desc = d.text(e) }},
	{"default", func(_ *decoder, e entry, a *argDecl) { a.defaultNode = e.value }},
	{"type", func(d *decoder, e entry, a *argDecl) { a.Type = d.argType(e) }},
	{"enum", func(d *decoder, e entry, a *argDecl) { a.enumNodes = d.list(e) }},
	{"pattern", func(d *decoder, e entry, a *argDecl) { a.Pattern = d.text(e) }},
	{"secret", func(d *decoder, e entry, a *argDecl) { a.Secret = d.boolean(e) }},
}

func (d *decoder) decodeArgs(e entry) []*Arg {
	var args []*Arg
	for _, n := range d.objects(e, "name: x") {
		a := &argDecl{Arg: Arg{Pos: Pos{d.name, n.Line}}}
		a.Fields = decodeFields(d, n, argFields, "an arg", a)
		d.finishArg(a)
		args = append(args, &a.Arg)
	}
	return args
}

func (d *decoder) argType(e entry) string {
	typ := d.text(e)
	if typ == "" || slices.Contains(valueTypes, typ) {
		return typ
	}
	meant := d.suggest.Meant(typ, valueTypes)
	if meant == "" {
		meant = ": the types are " + problem.QuoteAll(valueTypes)
	}
	d.report("arg-rules", e.line, "unknown type %s%s", problem.Quote(typ), meant)
	return ""
}

// finishArg reads the parts of an arg that depend on its type.
func (d *decoder) finishArg(a *argDecl) {
	if a.defaultNode != nil {
		line := a.Fields.Line("default", a.Line)
		x, err := d.typedValue(a.defaultNode, a.Type)
		if err != nil {
			d.report("bad-default", line, "the default of %s %s", problem.Quote(a.Name), err)
		} else {
			a.Default, a.HasDefault = x, true
		}
	}
	for _, n := range a.enumNodes {
		x, err := d.typedValue(n, a.Type)
		if err != nil {
			a.BadEnum = true
			d.report("arg-rules", n.Line, "each choice in `enum` of %s %s", problem.Quote(a.Name), err)
			continue
		}
		a.Enum = append(a.Enum, x)
	}
	if a.Pattern != "" {
		re, err := compilePattern(a.Pattern)
		if err != nil {
			d.report("arg-rules", a.Fields.Line("pattern", a.Line), "`pattern` of %s: %s", problem.Quote(a.Name), err)
		}
		a.pattern = re
	}
}

// compilePattern compiles a pattern. As in JSON Schema, it may match any part of
// a text unless it has anchors.
func compilePattern(p string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(p)
	if err != nil {
		return nil, fmt.Errorf("%s is not a regular expression: %w", problem.Quote(p), err)
	}
	return re, nil
}

var aclFields = []field[ACL]{
	{"role", func(d *decoder, e entry, a *ACL) { a.Role = d.text(e) }},
	{"admin", func(d *decoder, e entry, a *ACL) { a.Admin = d.boolean(e) }},
	{"ops", func(d *decoder, e entry, a *ACL) { a.Ops, _ = d.texts(e) }},
}

func (d *decoder) decodeACL(e entry) []ACL {
	var acl []ACL
	for _, n := range d.objects(e, "role: name") {
		a := ACL{Pos: Pos{d.name, n.Line}}
		a.Fields = decodeFields(d, n, aclFields, "an `acl` entry", &a)
		acl = append(acl, a)
	}
	return acl
}
