package chain

import "slices"

// edges has the neighbours of each vertex of a graph, all in one list.
type edges struct {
	at []int32 // where those of vertex i start in to; one more than vertices
	to []int32
}

// of returns the neighbours of vertex i.
func (e edges) of(i int32) []int32 { return e.to[e.at[i]:e.at[i+1]] }

// reversed returns the graph with its edges turned round; the neighbours
// of each vertex are in ascending order.
func (e edges) reversed() edges {
	n := len(e.at) - 1
	r := edges{at: make([]int32, n+1), to: make([]int32, len(e.to))}
	for _, t := range e.to {
		r.at[t+1]++
	}
	for i := range n {
		r.at[i+1] += r.at[i]
	}
	fill := make([]int32, n)
	copy(fill, r.at)
	for i := range n {
		for _, t := range e.of(int32(i)) {
			r.to[fill[t]] = int32(i)
			fill[t]++
		}
	}
	return r
}

// renamed returns the graph with vertex order[i] as i; name is the inverse of
// order. The order of neighbours stays.
func (e edges) renamed(order, name []int32) edges {
	r := edges{at: make([]int32, 1, len(e.at)), to: make([]int32, 0, len(e.to))}
	for _, v := range order {
		for _, t := range e.of(v) {
			r.to = append(r.to, name[t])
		}
		r.at = append(r.at, int32(len(r.to)))
	}
	return r
}

// sorted returns the vertices in topological order, ties by number. Vertices
// that are in a cycle, or after one, are left out. prev is e reversed.
func (e edges) sorted(prev edges) []int32 {
	n := len(e.at) - 1
	missing := make([]int32, n)
	var free heap
	for i := range n {
		missing[i] = int32(len(prev.of(int32(i))))
		if missing[i] == 0 {
			free.push(int64(i), int32(i))
		}
	}
	order := make([]int32, 0, n)
	for len(free) > 0 {
		v := free.pop().i
		order = append(order, v)
		for _, t := range e.of(v) {
			if missing[t]--; missing[t] == 0 {
				free.push(int64(t), t)
			}
		}
	}
	return order
}

// cycle returns the vertices of one cycle, in order, of the graph that e is the
// reverse of, given those that sorted could order. There must be one.
func (e edges) cycle(order []int32) []int32 {
	n := len(e.at) - 1
	ordered := make([]bool, n)
	for _, v := range order {
		ordered[v] = true
	}
	v := int32(0)
	for ordered[v] {
		v++
	}
	// Every vertex that is left has a previous one that is left: going back
	// must come to a vertex twice.
	var path []int32
	seen := make(map[int32]int)
	for {
		if at, ok := seen[v]; ok {
			return turned(path[at:])
		}
		seen[v] = len(path)
		path = append(path, v)
		for _, p := range e.of(v) {
			if !ordered[p] {
				v = p
				break
			}
		}
	}
}

// turned returns a cycle in the other direction, with its least vertex first.
func turned(cycle []int32) []int32 {
	slices.Reverse(cycle)
	least := slices.Index(cycle, slices.Min(cycle))
	return append(cycle[least:len(cycle):len(cycle)], cycle[:least]...)
}
