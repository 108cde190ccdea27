package grapher

import (
	"slices"

	"github.com/treadle-run/treadle/proto"
)

// jointType is the type of structural jobs. No job type is made by it.
const jointType = "joint"

// chainGraph is the graph of a chain while it is built. Every vertex is added behind
// those that it comes after, so it cannot have a cycle.
//
// Wherever a list of vertices is needed more than once, gather puts a joint in
// between, so that the graph stays linear in the size of what was asked for.
// simplify takes out those that turned out to save nothing.
type chainGraph struct {
	vertices []vertex
	joints   []int32 // in the order they were added

	// seen has the last union that each vertex was in.
	seen   []int32
	unions int32
}

type vertex struct {
	job      *proto.Job
	sequence int32   // that it is directly in, in builder.sequences
	prev     []int32 // that it comes after; shared, so never changed in place
	dropped  bool    // a joint that saves nothing
}

// add adds a vertex behind those in prev.
func (g *chainGraph) add(j *proto.Job, sequence int32, prev []int32) int32 {
	g.vertices = append(g.vertices, vertex{job: j, sequence: sequence, prev: prev})
	return int32(len(g.vertices) - 1)
}

// gather returns ids as one vertex: a joint in the sequence, unless there is
// but one anyhow. The joint gets its id when it is known to stay.
func (g *chainGraph) gather(ids []int32, name string, sequence int32) []int32 {
	if len(ids) < 2 {
		return ids
	}
	j := &proto.Job{Name: name, Type: jointType, State: proto.StatePending, Structural: true}
	v := g.add(j, sequence, ids)
	g.joints = append(g.joints, v)
	return []int32{v}
}

// union returns what is in any of the lists, each vertex once.
func (g *chainGraph) union(lists [][]int32) []int32 {
	if missing := len(g.vertices) - len(g.seen); missing > 0 {
		g.seen = append(g.seen, make([]int32, missing)...)
	}
	g.unions++
	var out []int32
	for _, list := range lists {
		for _, v := range list {
			if g.seen[v] != g.unions {
				g.seen[v] = g.unions
				out = append(out, v)
			}
		}
	}
	return out
}

// simplify drops joints until each that is left saves edges: k before it and n
// after it need k+n edges with the joint and k*n without. No step adds edges.
func (g *chainGraph) simplify() {
	for again := len(g.joints) > 0; again; {
		for i := range g.vertices {
			g.resolve(&g.vertices[i])
		}
		next := g.countNext()
		again = g.dropUnused(next)
		g.joints = slices.DeleteFunc(g.joints, func(v int32) bool {
			j := &g.vertices[v]
			g.resolve(j)
			k, n := len(j.prev), next[v]
			if !j.dropped && k*n <= k+n {
				j.dropped, again = true, true
			}
			return j.dropped
		})
	}
}

// resolve replaces dropped joints before v by what is before these.
func (g *chainGraph) resolve(v *vertex) {
	if !slices.ContainsFunc(v.prev, func(u int32) bool { return g.vertices[u].dropped }) {
		return
	}
	lists := make([][]int32, 0, len(v.prev))
	for i, u := range v.prev {
		if g.vertices[u].dropped {
			lists = append(lists, g.vertices[u].prev)
		} else {
			lists = append(lists, v.prev[i:i+1])
		}
	}
	v.prev = g.union(lists)
}

// countNext returns how many vertices come directly after each.
func (g *chainGraph) countNext() []int {
	next := make([]int, len(g.vertices))
	for i := range g.vertices {
		if g.vertices[i].dropped {
			continue
		}
		for _, u := range g.vertices[i].prev {
			next[u]++
		}
	}
	return next
}

// dropUnused drops joints that nothing comes after, and keeps next up to date.
func (g *chainGraph) dropUnused(next []int) (dropped bool) {
	for _, v := range slices.Backward(g.joints) {
		if next[v] > 0 {
			continue
		}
		g.vertices[v].dropped, dropped = true, true
		for _, u := range g.vertices[v].prev {
			next[u]--
		}
	}
	return dropped
}
