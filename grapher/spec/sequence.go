package spec

import (
	"maps"
	"slices"

	"github.com/treadle-run/treadle/proto"
)

// Sequences are all sequences of a set of specs, by name.
type Sequences map[string]*Sequence

// RequestTypes returns the names of the sequences that are requests, sorted.
func (q Sequences) RequestTypes() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if q[name].Request {
			names = append(names, name)
		}
	}
	return names
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

	// Order has the nodes in topological order, ties by name. The checks set it.
	Order []*Node

	Fields Fields
}

// Arg returns the arg of the sequence with that name, and false if it has none.
func (s *Sequence) Arg(name string) (*Arg, bool) {
	for _, list := range s.Args.Lists() {
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

// Lists returns the three lists, in the order in which they are shown.
func (a *SequenceArgs) Lists() [3][]*Arg {
	return [3][]*Arg{a.Required, a.Optional, a.Static}
}

// ACL says what a role may do with a request.
type ACL struct {
	Pos
	Role  string
	Admin bool     // all ops
	Ops   []string // "start", "stop"

	Fields Fields
}
