package check

import (
	"math/bits"
	"slices"

	"github.com/treadle-run/treadle/grapher/spec"
)

// flow is what the order of the nodes of a sequence says about its args.
type flow struct {
	unset     []use      // args used that are not surely set before
	conflicts []conflict // args set by nodes that may run in parallel
	redundant []impliedDep
}

// use is a place where a node uses an arg of its sequence.
type use struct {
	node   *spec.Node
	arg    string
	line   int
	setter *spec.Node // a node that sets the arg, but not surely before; nil: none does
}

type conflict struct {
	node, other *spec.Node // other comes first
	set         *spec.NodeSet
}

type impliedDep struct {
	node      *spec.Node
	dep       int // in node.Deps
	impliedBy string
}

// uses returns where n uses args of its sequence. What `if` compares can also be
// an arg that the node itself gives.
func uses(n *spec.Node) []use {
	var uses []use
	for _, a := range n.Args {
		if a.Given != "" && !a.HasValue {
			uses = append(uses, use{node: n, arg: a.Given, line: a.Fields.Line("given", a.Line)})
		}
	}
	for _, e := range n.Each {
		uses = append(uses, use{node: n, arg: e.List, line: e.Line})
	}
	if n.If != "" && !givesOwn(n, n.If) {
		uses = append(uses, use{node: n, arg: n.If, line: n.Fields.Line("if", n.Line)})
	}
	return uses
}

// givesOwn reports whether the node gives an arg of that name by `args` or `each`.
func givesOwn(n *spec.Node, name string) bool {
	return slices.ContainsFunc(n.Args, func(a *spec.NodeArg) bool { return a.Expected == name }) ||
		slices.ContainsFunc(n.Each, func(e *spec.Each) bool { return e.Element == name })
}

// newFlow works out the flow of s, whose nodes g orders.
func newFlow(s *spec.Sequence, g *nodeGraph) *flow {
	f := &flowWalk{nodeGraph: g, flow: &flow{}, open: map[string][]use{}, setters: map[string][]argSetter{}}
	f.collect(s)
	g.reach(f.sources(), f.visit)
	for _, uses := range f.open {
		f.unset = append(f.unset, uses...)
	}
	return f.flow
}

// newFlowWithoutOrder is newFlow for nodes that have no order, because a dep is
// unknown or deps form a cycle: all that can be told is which args nothing sets.
func newFlowWithoutOrder(nodes []*spec.Node, provided map[string]bool) *flow {
	f := &flow{}
	for _, n := range nodes {
		for _, u := range uses(n) {
			if !provided[u.arg] {
				f.unset = append(f.unset, u)
			}
		}
	}
	return f
}

// argSetter is a node that sets an arg. It is clear once it is found in conflict, so
// that it is reported once.
type argSetter struct {
	place    int32
	set      *spec.NodeSet
	reported bool
}

type flowWalk struct {
	*nodeGraph
	*flow
	open    map[string][]use       // by arg: uses without a setter before them so far
	setters map[string][]argSetter // by arg, in order
}

func (f *flowWalk) collect(s *spec.Sequence) {
	given := map[string]bool{}
	for _, list := range s.Args.Lists() {
		for _, a := range list {
			given[a.Name] = true
		}
	}
	for i, n := range f.nodes {
		for _, set := range n.Sets {
			if set.As != "" {
				f.setters[set.As] = append(f.setters[set.As], argSetter{place: int32(i), set: set})
			}
		}
		for _, u := range uses(n) {
			if !given[u.arg] {
				f.open[u.arg] = append(f.open[u.arg], u)
			}
		}
	}
	for arg, uses := range f.open {
		if setters := f.setters[arg]; len(setters) > 0 {
			for i := range uses {
				uses[i].setter = f.nodes[setters[0].place]
			}
		}
	}
}

// sources returns the nodes whose descendants matter: those that set args, and
// those that stand in a list of several deps.
func (f *flowWalk) sources() []int32 {
	wanted := make([]bool, len(f.nodes))
	for _, setters := range f.setters {
		for _, s := range setters {
			wanted[s.place] = true
		}
	}
	for _, deps := range f.deps {
		if len(deps) > 1 {
			for _, dep := range deps {
				wanted[dep] = true
			}
		}
	}
	var sources []int32
	for i, w := range wanted {
		if w {
			sources = append(sources, int32(i))
		}
	}
	return sources
}

// visit judges one chunk of sources.
func (f *flowWalk) visit(chunk []int32, before []uint64) {
	masks := map[string]uint64{}
	for j, i := range chunk {
		for _, set := range f.nodes[i].Sets {
			masks[set.As] |= 1 << j
		}
	}
	for arg, mask := range masks {
		f.resolve(arg, mask, before)
		f.conflict(arg, mask, chunk, before)
	}
	f.implied(chunk, before)
}

// resolve takes off the list the uses of arg that have a setter of the chunk
// before them.
func (f *flowWalk) resolve(arg string, mask uint64, before []uint64) {
	open := f.open[arg]
	if len(open) == 0 {
		return
	}
	kept := open[:0]
	for _, u := range open {
		if before[f.place[u.node.Name]]&mask == 0 {
			kept = append(kept, u)
		}
	}
	f.open[arg] = kept
}

// conflict finds setters of arg that do not come after every setter of the chunk
// that is earlier in the order.
func (f *flowWalk) conflict(arg string, mask uint64, chunk []int32, before []uint64) {
	setters := f.setters[arg]
	if len(setters) < 2 {
		return
	}
	for i := range setters {
		s := &setters[i]
		if s.reported || s.place <= chunk[0] {
			continue
		}
		earlier := mask
		if s.place <= chunk[len(chunk)-1] {
			earlier = 0
			for j, place := range chunk {
				if place < s.place {
					earlier |= mask & (1 << j)
				}
			}
		}
		if apart := earlier &^ before[s.place]; apart != 0 {
			s.reported = true
			other := f.nodes[chunk[bits.TrailingZeros64(apart)]]
			f.conflicts = append(f.conflicts, conflict{f.nodes[s.place], other, s.set})
		}
	}
}

// implied finds deps of the chunk that another dep of the same node implies.
func (f *flowWalk) implied(chunk []int32, before []uint64) {
	at := make(map[int32]int, len(chunk))
	for j, i := range chunk {
		at[i] = j
	}
	for i, deps := range f.deps {
		if len(deps) < 2 {
			continue
		}
		var all uint64
		for _, dep := range deps {
			all |= before[dep]
		}
		if all == 0 {
			continue
		}
		for k, dep := range deps {
			if j, ok := at[dep]; ok && all&(1<<j) != 0 {
				f.redundant = append(f.redundant, impliedDep{f.nodes[i], k, f.impliedBy(deps, before, j)})
			}
		}
	}
}

func (f *flowWalk) impliedBy(deps []int32, before []uint64, j int) string {
	for _, dep := range deps {
		if before[dep]&(1<<j) != 0 {
			return f.nodes[dep].Name
		}
	}
	return ""
}
