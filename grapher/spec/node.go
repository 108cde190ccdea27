package spec

import "github.com/treadle-run/treadle/proto"

// Category is what a node stands for.
type Category string

// The categories of nodes.
const (
	CategoryJob         Category = "job"
	CategorySequence    Category = "sequence"
	CategoryConditional Category = "conditional"
)

// NoopSequence is the built-in sequence without nodes that a conditional may
// choose. A sequence of that name in the specs wins over it.
const NoopSequence = "noop"

// NullChoice is the key in Node.Eq of the choice for null. No text is equal to it, since
// it is not UTF-8.
const NullChoice = "\xffnull"

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
	Parallel uint // limit of expansions at a time; 0 is none

	If string            // the arg that a conditional compares
	Eq map[string]string // value, "default" or NullChoice -> name of a sequence

	Retry        uint
	RetryWait    proto.Duration
	RetryBackoff float64 // 0 is none
	RetryWaitMax proto.Duration
	Timeout      proto.Duration // of one try of a job; of all tries of a sequence
	Idempotent   bool           // default true

	depLines []int32          // of Deps
	eqLines  map[string]int32 // of Eq
	Fields   Fields
}

// NodeArg gives a value to the called job or sequence: either the arg named
// Given, or the literal Value.
type NodeArg struct {
	Pos
	Expected string
	Given    string // equal to Expected if left out; "" if there is a Value
	HasValue bool
	Value    any // types as proto.Values holds them

	Fields Fields
}

// NodeSet takes an arg over from the called job or sequence.
type NodeSet struct {
	Pos
	Arg     string
	As      string // equal to Arg if left out
	Collect bool   // of an expanded node: a list of the values, in order

	Fields Fields
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

// DepLine returns the line of dep i.
func (n *Node) DepLine(i int) int {
	if i < len(n.depLines) {
		return int(n.depLines[i])
	}
	return n.Line
}

// EqLine returns the line of a choice in `eq`.
func (n *Node) EqLine(value string) int {
	if line, ok := n.eqLines[value]; ok {
		return int(line)
	}
	return n.Line
}
