package mask

import (
	"maps"
	"slices"
	"sort"
)

// automaton finds the longest pattern that ends at each byte of a text, in one pass
// (Aho and Corasick). Its nodes are the prefixes of all patterns, the shorter ones
// first, node 0 is the empty one. The children of a node stand side by side,
// sorted by label, so that a node costs 17 bytes, whatever follows it.
type automaton struct {
	patterns []string
	root     [256]int32 // children of node 0, 0 if there is none
	label    []byte     // the last byte of the prefix
	children []int32    // the first child; those of node n end where those of n+1 begin
	fail     []int32    // the longest proper suffix of the prefix that is a node, too
	found    []int32    // length of the longest pattern that the prefix ends with, or 0
	levels   []int32    // the first node of each length
}

// newAutomaton returns the automaton of patterns that are not empty.
func newAutomaton(patterns map[string]bool) *automaton {
	nodes := 1 // at most
	for p := range patterns {
		nodes += len(p)
	}
	a := &automaton{
		patterns: slices.Sorted(maps.Keys(patterns)),
		label:    make([]byte, 1, nodes),
		found:    make([]int32, 1, nodes),
		children: make([]int32, 0, nodes+1),
	}
	a.build()
	a.link()
	return a
}

// build makes the nodes, level by level. A node stands for a run of the sorted
// patterns: those that start with it.
func (a *automaton) build() {
	type run struct{ from, to int }
	level, next := []run{{0, len(a.patterns)}}, []run{}
	for length := 0; len(level) > 0; length++ {
		a.levels = append(a.levels, int32(len(a.label)-len(level)))
		next = next[:0]
		first := int32(len(a.label))
		for i, r := range level {
			if len(a.patterns[r.from]) == length { // it ends here; sorted, it comes first
				a.found[int(a.levels[length])+i] = int32(length)
				r.from++
			}
			a.children = append(a.children, first+int32(len(next)))
			for r.from < r.to {
				b := a.patterns[r.from][length]
				same := sort.Search(r.to-r.from, func(n int) bool { return a.patterns[r.from+n][length] > b })
				next = append(next, run{r.from, r.from + same})
				a.label, a.found = append(a.label, b), append(a.found, 0)
				r.from += same
			}
		}
		level, next = next, level
	}
	a.children = append(a.children, int32(len(a.label)))
	for n := a.children[0]; n < a.children[1]; n++ {
		a.root[a.label[n]] = n
	}
}

// link sets where the search goes on from a node that the next byte does not fit.
func (a *automaton) link() {
	a.fail = make([]int32, len(a.label))
	for n := range a.label {
		for c := a.children[n]; c < a.children[n+1]; c++ {
			if n > 0 {
				a.fail[c] = a.next(a.fail[n], a.label[c])
			}
			if a.found[c] == 0 {
				a.found[c] = a.found[a.fail[c]]
			}
		}
	}
}

// child returns the node of a longer prefix, or 0.
func (a *automaton) child(n int32, b byte) int32 {
	if n == 0 {
		return a.root[b]
	}
	from, to := a.children[n], a.children[n+1]
	for from < to {
		middle := (from + to) / 2
		switch l := a.label[middle]; {
		case l == b:
			return middle
		case l < b:
			from = middle + 1
		default:
			to = middle
		}
	}
	return 0
}

// next returns the node of the longest prefix that the text ends with, after b.
func (a *automaton) next(n int32, b byte) int32 {
	for {
		if c := a.child(n, b); c != 0 || n == 0 {
			return c
		}
		n = a.fail[n]
	}
}

// length returns that of the prefix of a node.
func (a *automaton) length(n int32) int {
	return sort.Search(len(a.levels), func(i int) bool { return a.levels[i] > n }) - 1
}

// endAt returns the length of the longest start of the text that a pattern ends
// with (Knuth, Morris and Pratt, the text being the pattern), the whole pattern
// aside.
func (a *automaton) endAt(text []byte) int {
	longest := a.levels[len(a.levels)-1]
	text = text[:min(len(text), a.length(longest))]
	fail := make([]int32, len(text)+1)
	step := func(n int32, b byte) int32 {
		for n > 0 && (int(n) == len(text) || text[n] != b) {
			n = fail[n]
		}
		if int(n) < len(text) && text[n] == b {
			n++
		}
		return n
	}
	for i := 1; i < len(text); i++ {
		fail[i+1] = step(fail[i], text[i])
	}
	end := 0
	for _, p := range a.patterns {
		n := int32(0)
		for i := range len(p) {
			n = step(n, p[i])
		}
		if int(n) == len(p) {
			n = fail[n]
		}
		end = max(end, int(n))
	}
	return end
}
