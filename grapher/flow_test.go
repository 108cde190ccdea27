package grapher

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawSequence returns a sequence of random nodes, deps only to earlier ones, that
// set and use a few args. Places in the order are scattered over names.
func drawSequence(t *rapid.T, most int) *Sequence {
	s := &Sequence{Name: "s", Nodes: map[string]*Node{}}
	var names []string
	for i := range rapid.IntRange(1, most).Draw(t, "nodes") {
		n := &Node{Name: fmt.Sprintf("n%d-%d", (i*7)%10, i), Category: CategoryJob, Type: "noop"}
		for _, dep := range names {
			if rapid.IntRange(0, 5).Draw(t, "dep") == 0 {
				n.Deps = append(n.Deps, dep)
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "sets") == 0 {
			n.Sets = []*NodeSet{{Arg: "x", As: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "as")}}
		}
		if rapid.IntRange(0, 2).Draw(t, "uses") == 0 {
			given := rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "given")
			n.Args = []*NodeArg{{Expected: "e", Given: given}}
		}
		s.Nodes[n.Name] = n
		names = append(names, n.Name)
	}
	return s
}

// before reports whether node a is done before node b starts, by a plain search.
func before(s *Sequence, a, b string) bool {
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
		for i, n := range topoOrder(s) {
			place[n.Name] = i
		}
		for _, n := range s.Nodes {
			for _, u := range n.uses() {
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

// More nodes than fit in one chunk of the search: n0 <- n1 <- ... <- n199, each
// with the first as a dep too; all set x but the last, which uses it.
func TestFlowOverManyNodes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("sequences:\n  s:\n    request: true\n    nodes:\n")
	for i := range 200 {
		fmt.Fprintf(&b, "      n%03d: {category: job, type: noop, args: [{expected: first}], ", i)
		switch i {
		case 0:
			b.Reset()
			b.WriteString("sequences:\n  s:\n    request: true\n    nodes:\n      n000: {category: job, type: noop, sets: [{arg: first}, {arg: x}]}\n")
		case 199:
			fmt.Fprintf(&b, "deps: [n198, n000]}\n")
		default:
			fmt.Fprintf(&b, "sets: [{arg: x}], deps: [n%03d]}\n", i-1)
		}
	}
	_, problems := Parse(map[string][]byte{"a.yaml": []byte(b.String())}, Options{})
	var got []string
	for _, p := range problems {
		if p.Check != "unused-set" {
			got = append(got, p.Node+" "+p.Check+": "+p.Message)
		}
	}
	want := "n199 redundant-dep: dep `n000` is implied by dep `n198`: leave it out"
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// The largest sequence that fits in a file is checked without an array of nodes
// by nodes.
func BenchmarkParseWideSequence(b *testing.B) {
	var text strings.Builder
	text.WriteString("sequences:\n  s:\n    request: true\n    nodes:\n      all: {category: job, type: noop, sets: [{arg: x}]}\n")
	for i := range 40_000 {
		fmt.Fprintf(&text, "      n%d: {category: job, type: noop, deps: [all], args: [{expected: x}]}\n", i)
	}
	files := map[string][]byte{"a.yaml": []byte(text.String())}
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := Parse(files, Options{}); problems.HasErrors() {
			b.Fatal(showProblems(problems))
		}
	}
}
