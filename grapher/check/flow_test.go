package check

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/treadle-run/treadle/grapher/spec"
)

// drawSequence returns a sequence of random nodes, deps only to earlier ones, that
// set and use a few args. Places in the order are scattered over names.
func drawSequence(t *rapid.T, most int) *spec.Sequence {
	s := &spec.Sequence{Name: "s", Nodes: map[string]*spec.Node{}}
	var names []string
	for i := range rapid.IntRange(1, most).Draw(t, "nodes") {
		n := &spec.Node{Name: fmt.Sprintf("n%d-%d", (i*7)%10, i), Category: spec.CategoryJob, Type: "noop"}
		for _, dep := range names {
			if rapid.IntRange(0, 5).Draw(t, "dep") == 0 {
				n.Deps = append(n.Deps, dep)
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "sets") == 0 {
			n.Sets = []*spec.NodeSet{{Arg: "x", As: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "as")}}
		}
		if rapid.IntRange(0, 2).Draw(t, "uses") == 0 {
			given := rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "given")
			n.Args = []*spec.NodeArg{{Expected: "e", Given: given}}
		}
		s.Nodes[n.Name] = n
		names = append(names, n.Name)
	}
	return s
}

// before reports whether node a is done before node b starts, by a plain search.
func before(s *spec.Sequence, a, b string) bool {
	for _, dep := range s.Nodes[b].Deps {
		if dep == a || before(s, a, dep) {
			return true
		}
	}
	return false
}

// The flow over bitsets finds what a plain search finds.
func TestFlowFindsWhatAPlainSearchFinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSequence(t, 14)
		f := newFlow(s, newGraph(s))
		unset, conflicts, redundant := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, u := range f.unset {
			unset[u.node.Name+" "+u.arg] = true
		}
		for _, c := range f.conflicts {
			conflicts[c.node.Name+" "+c.set.As] = true
			if before(s, c.other.Name, c.node.Name) || before(s, c.node.Name, c.other.Name) {
				t.Errorf("%s and %s are in conflict and do not run in parallel", c.node.Name, c.other.Name)
			}
		}
		for _, r := range f.redundant {
			redundant[r.node.Name+" "+r.node.Deps[r.dep]] = true
			if !before(s, r.node.Deps[r.dep], r.impliedBy) {
				t.Errorf("dep %s of %s is not implied by %s", r.node.Deps[r.dep], r.node.Name, r.impliedBy)
			}
		}
		place := map[string]int{}
		for i, n := range s.TopologicalOrder() {
			place[n.Name] = i
		}
		for _, n := range s.Nodes {
			for _, u := range uses(n) {
				want := true
				for _, m := range s.Nodes {
					want = want && (len(m.Sets) == 0 || m.Sets[0].As != u.arg || !before(s, m.Name, n.Name))
				}
				if unset[n.Name+" "+u.arg] != want {
					t.Errorf("node %s uses %s: not set is %v, want %v", n.Name, u.arg, !want, want)
				}
			}
			for _, set := range n.Sets {
				want := false
				for _, m := range s.Nodes {
					want = want || len(m.Sets) > 0 && m.Sets[0].As == set.As && place[m.Name] < place[n.Name] && !before(s, m.Name, n.Name)
				}
				if conflicts[n.Name+" "+set.As] != want {
					t.Errorf("node %s sets %s: conflict is %v, want %v", n.Name, set.As, !want, want)
				}
			}
			for _, dep := range n.Deps {
				want := false
				for _, other := range n.Deps {
					want = want || before(s, dep, other)
				}
				if redundant[n.Name+" "+dep] != want {
					t.Errorf("node %s has dep %s: redundant is %v, want %v", n.Name, dep, !want, want)
				}
			}
		}
	})
}
