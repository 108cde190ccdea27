package grapher

import (
	"regexp"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// Limits bounds what specs and requests may ask for.
type Limits struct {
	Jobs     int // jobs in one chain
	Depth    int // nested sequences
	FileSize int // bytes of one spec file
}

// DefaultLimits are the limits of a configuration that says nothing.
var DefaultLimits = Limits{Jobs: 200_000, Depth: 50, FileSize: 4 << 20}

// Specs has all sequences and apps of a specs directory. It never changes, and is safe
// for concurrent use.
type Specs struct {
	Sequences map[string]*Sequence
	Apps      []App // by name

	registry *job.Registry
	limits   Limits
}

// Pos is a place in a spec file.
type Pos struct {
	File string
	Line int
}

// Sequence is a named set of nodes with args.
type Sequence struct {
	Pos
	Name    string
	Request bool // users may ask for it
	Args    SequenceArgs
	ACL     []ACL
	Nodes   map[string]*Node
	// Timeout bounds the whole sequence when it is a request; 0 is none.
	Timeout proto.Duration

	// order has the nodes in topological order, ties by name. Set once the specs
	// have passed the checks.
	order []*Node

	fields fields
}

// Arg returns the arg of the sequence with that name, and false if it has none.
func (s *Sequence) Arg(name string) (*Arg, bool) {
	for _, list := range s.Args.lists() {
		for _, a := range list {
			if a.Name == name {
				return a, true
			}
		}
	}
	return nil, false
}

// SequenceArgs are the args of a sequence by who gives their value.
type SequenceArgs struct {
	Required, Optional, Static []*Arg
}

// lists returns the three lists, in the order in which they are shown.
func (a *SequenceArgs) lists() [3][]*Arg {
	return [3][]*Arg{a.Required, a.Optional, a.Static}
}

// Arg is an arg of a sequence.
type Arg struct {
	Pos
	Name    string
	Desc    string
	Default any    // of optional and static args; typed as Type says, else as YAML string
	Type    string // string, int, float, bool, list, object, or "" for any
	Enum    []any
	Pattern string // the whole of a string value must match it
	Secret  bool   // never shown, logged or stored in clear

	pattern    *regexp.Regexp
	hasDefault bool // has one that could be read as Type
	badEnum    bool // a choice was refused
	fields     fields
}

// ACL says what a role may do with a request.
type ACL struct {
	Pos
	Role  string
	Admin bool     // all ops
	Ops   []string // "start", "stop"

	fields fields
}

// Category is what a node stands for.
type Category string

// The categories of nodes.
const (
	CategoryJob         Category = "job"
	CategorySequence    Category = "sequence"
	CategoryConditional Category = "conditional"
)

// NoopSequence is the built-in sequence without nodes that a conditional may
// choose.
const NoopSequence = "noop"

// Node is one vertex of a sequence.
type Node struct {
	Pos
	Name     string
	Category Category
	Type     string // job type, or name of the called sequence; "" for a conditional
	Args     []*NodeArg
	Sets     []*NodeSet
	Deps     []string
	Each     []*Each
	Parallel uint // most expansions at a time; 0 is no limit

	If string            // the arg that a conditional compares
	Eq map[string]string // value or "default" -> name of a sequence

	Retry        uint
	RetryWait    proto.Duration
	RetryBackoff float64 // 0 is none
	RetryWaitMax proto.Duration
	Timeout      proto.Duration // of one try of a job; of all tries of a sequence
	Idempotent   bool           // default true

	depLines []int32          // of Deps
	eqLines  map[string]int32 // of Eq
	fields   fields
}

// NodeArg gives a value to the called job or sequence: either the arg named
// Given, or the literal Value.
type NodeArg struct {
	Pos
	Expected string
	Given    string // equal to Expected if left out; "" if there is a Value
	HasValue bool
	Value    any // types as proto.Values holds them

	fields fields
}

// NodeSet takes an arg over from the called job or sequence.
type NodeSet struct {
	Pos
	Arg     string
	As      string // equal to Arg if left out
	Collect bool   // of an expanded node: a list of the values, in order

	fields fields
}

// Each expands a node over the list in arg List; each expansion has the
// element in arg Element.
type Each struct {
	Pos
	List, Element string
}

// Calls returns the names of the sequences that the node may call.
func (n *Node) Calls() []string {
	switch n.Category {
	case CategorySequence:
		return []string{n.Type}
	case CategoryConditional:
		names := make([]string, 0, len(n.Eq))
		for _, name := range n.Eq {
			names = append(names, name)
		}
		return names
	case CategoryJob:
	}
	return nil
}

// fields says on which lines of its file the fields of an object stand. Fields
// that are null count as left out. They serve the checks and are dropped after
// them.
type fields []fieldLine

// fieldLine is small, and without pointers: there are very many.
type fieldLine struct {
	field uint8 // in fieldNames
	line  int32
}

// fieldNames are the fields of all objects in a spec.
var fieldNames = []string{
	"sequences",
	"request", "args", "acl", "nodes", "timeout",
	"required", "optional", "static",
	"name", "desc", "default", "type", "enum", "pattern", "secret",
	"role", "admin", "ops",
	"category", "sets", "deps", "each", "parallel", "if", "eq",
	"retry", "retryWait", "retryBackoff", "retryWaitMax", "idempotent",
	"expected", "given", "value", "arg", "as", "collect",
	"apps", "every", "cron", "starts", "depends", "timezone", "host", "deadline", "undo", "failureDelay",
	"missed", "missedCap", "overlap", "jitter", "gap", "fold",
}

var fieldNumbers = func() map[string]uint8 {
	m := make(map[string]uint8, len(fieldNames))
	for i, name := range fieldNames {
		m[name] = uint8(i)
	}
	return m
}()

// add notes that the field stands on the line.
func (f *fields) add(name string, line int) {
	*f = append(*f, fieldLine{fieldNumbers[name], int32(line)})
}

// has reports whether the field is there.
func (f fields) has(name string) bool { return f.line(name, 0) != 0 }

// line returns the line of the field, and other if it is not there.
func (f fields) line(name string, other int) int {
	for _, x := range f {
		if fieldNames[x.field] == name {
			return int(x.line)
		}
	}
	return other
}

// dropFields frees what only the checks need.
func (s *Sequence) dropFields() {
	s.fields = nil
	for _, list := range s.Args.lists() {
		for _, a := range list {
			a.fields = nil
		}
	}
	for i := range s.ACL {
		s.ACL[i].fields = nil
	}
	for _, n := range s.Nodes {
		n.fields, n.depLines, n.eqLines = nil, nil, nil
		for _, a := range n.Args {
			a.fields = nil
		}
		for _, set := range n.Sets {
			set.fields = nil
		}
	}
}
