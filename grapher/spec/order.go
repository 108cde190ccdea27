package spec

import "container/heap"

// TopologicalOrder returns the nodes so that each comes after its deps, and those that
// could come next by name. It returns nil if a dep is unknown or deps form a
// cycle.
func (s *Sequence) TopologicalOrder() []*Node {
	waits := make(map[string]int, len(s.Nodes))
	next := make(map[string][]*Node, len(s.Nodes))
	var ready byName
	for _, n := range s.Nodes {
		waits[n.Name] = len(n.Deps)
		for _, dep := range n.Deps {
			next[dep] = append(next[dep], n)
		}
		if len(n.Deps) == 0 {
			ready = append(ready, n)
		}
	}
	heap.Init(&ready)
	order := make([]*Node, 0, len(s.Nodes))
	for len(ready) > 0 {
		n := heap.Pop(&ready).(*Node)
		order = append(order, n)
		for _, m := range next[n.Name] {
			if waits[m.Name]--; waits[m.Name] == 0 {
				heap.Push(&ready, m)
			}
		}
	}
	if len(order) < len(s.Nodes) {
		return nil
	}
	return order
}

// byName is a heap of nodes.
type byName []*Node

func (h byName) Len() int           { return len(h) }
func (h byName) Less(i, j int) bool { return h[i].Name < h[j].Name }
func (h byName) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byName) Push(x any)        { *h = append(*h, x.(*Node)) }
func (h *byName) Pop() any {
	old := *h
	n := old[len(old)-1]
	*h = old[:len(old)-1]
	return n
}
