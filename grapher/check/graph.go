package check

import (
	"slices"

	"github.com/treadle-run/treadle/grapher/spec"
)

// nodeGraph is the nodes of a sequence in topological order, ties by name, with what
// each depends on, all by their place in that order.
type nodeGraph struct {
	nodes []*spec.Node
	deps  [][]int32
	place map[string]int32
}

// newGraph orders the nodes of s. It returns nil if a dep is unknown or deps go
// in a cycle.
func newGraph(s *spec.Sequence) *nodeGraph {
	g := &nodeGraph{nodes: s.TopologicalOrder()}
	if g.nodes == nil && len(s.Nodes) > 0 {
		return nil
	}
	g.place = make(map[string]int32, len(g.nodes))
	g.deps = make([][]int32, len(g.nodes))
	for i, n := range g.nodes {
		g.place[n.Name] = int32(i)
		for _, dep := range n.Deps {
			g.deps[i] = append(g.deps[i], g.place[dep])
		}
	}
	return g
}

// reach finds which nodes surely are done before which others, for all sources
// in chunks of 64: in before, bit j of node i says that chunk[j] is done before
// node i. Memory is in proportion to the nodes, not to their square, so that a
// sequence of 100,000 nodes is no danger.
func (g *nodeGraph) reach(sources []int32, visit func(chunk []int32, before []uint64)) {
	before := make([]uint64, len(g.nodes))
	self := make([]uint64, len(g.nodes))
	for len(sources) > 0 {
		chunk := sources[:min(64, len(sources))]
		sources = sources[len(chunk):]
		for j, i := range chunk {
			self[i] = 1 << j
		}
		for i, deps := range g.deps {
			before[i] = 0
			for _, dep := range deps {
				before[i] |= before[dep] | self[dep]
			}
		}
		visit(chunk, before)
		for _, i := range chunk {
			self[i] = 0
		}
	}
}

// cycles returns the cycles in a directed graph of n vertices, each once by
// the edge that closes it, found depth first in the order of vertices. It stops
// at a bound: a hostile graph has very many.
func cycles(n int, next func(i int) []int) [][]int {
	const (
		unseen = iota
		onPath
		done
	)
	room := 100_000 // vertices in cycles found
	state := make([]uint8, n)
	type step struct {
		vertex int
		rest   []int
	}
	var found [][]int
	var path []step
	for start := range n {
		if state[start] != unseen {
			continue
		}
		state[start] = onPath
		path = append(path[:0], step{start, next(start)})
		for len(path) > 0 && room > 0 {
			top := &path[len(path)-1]
			if len(top.rest) == 0 {
				state[top.vertex] = done
				path = path[:len(path)-1]
				continue
			}
			v := top.rest[0]
			top.rest = top.rest[1:]
			switch state[v] {
			case unseen:
				state[v] = onPath
				path = append(path, step{v, next(v)})
			case onPath:
				var cycle []int
				for i := len(path) - 1; ; i-- {
					cycle = append(cycle, path[i].vertex)
					if path[i].vertex == v {
						break
					}
				}
				slices.Reverse(cycle)
				found = append(found, cycle)
				room -= len(cycle)
			}
		}
	}
	return found
}
