package chain

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/treadle-run/treadle/proto"
)

// graph is what never changes of a chain. Jobs, sequences, members and groups
// are small integers: jobs in topological order, ties by id; sequences so that
// those inside a sequence follow it.
type graph struct {
	jc       *proto.JobChain
	total    uint // jobs, structural aside
	jobs     []*proto.Job
	byID     []int32 // the jobs in the order of their ids
	next     edges
	prev     edges   // in the order of ids
	seqOf    []int32 // the innermost sequence around each job
	memberOf []int32 // the member of a parallel group that each job is by itself
	// bySeq has the jobs by sequence: those of a sequence and of all inside it are in
	// a row, sequence.lo to sequence.hi.
	bySeq []int32
}

// find returns the job with the id.
func (g *graph) find(id string) (int32, bool) {
	i, ok := sort.Find(len(g.byID), func(i int) int { return strings.Compare(id, g.jobs[g.byID[i]].ID) })
	if !ok {
		return none, false
	}
	return g.byID[i], true
}

// newGraph checks the jobs and edges of a job chain and orders them.
func newGraph(jc *proto.JobChain) (*graph, error) {
	ids := slices.Sorted(maps.Keys(jc.Jobs))
	number := make(map[string]int32, len(ids)) // of a job in the order of ids
	for i, id := range ids {
		number[id] = int32(i)
	}
	g := &graph{jc: jc}
	for _, id := range ids {
		job := jc.Jobs[id]
		if job == nil {
			return nil, invalid(jc, "job %q is null", id)
		}
		if job.ID != id {
			return nil, invalid(jc, "job %q says that its id is %q", id, job.ID)
		}
		if !job.Structural {
			g.total++
		}
	}
	next, err := newEdges(jc, ids, number)
	if err != nil {
		return nil, err
	}
	prev := next.reversed()
	order := next.sorted(prev)
	if len(order) < len(ids) {
		return nil, invalid(jc, "jobs depend on each other in a cycle: %s", cycleText(ids, prev.cycle(order)))
	}
	name := make([]int32, len(ids)) // inverse of order
	g.jobs = make([]*proto.Job, len(ids))
	for i, v := range order {
		name[v] = int32(i)
		g.jobs[i] = jc.Jobs[ids[v]]
	}
	g.byID = name
	g.next = next.renamed(order, name)
	g.prev = prev.renamed(order, name)
	return g, nil
}

func newEdges(jc *proto.JobChain, ids []string, number map[string]int32) (edges, error) {
	var total int
	for id, next := range jc.AdjacencyList {
		if _, ok := number[id]; !ok {
			return edges{}, invalid(jc, "the adjacency list has job %q, which is not in the chain", id)
		}
		total += len(next)
	}
	e := edges{at: make([]int32, 1, len(ids)+1), to: make([]int32, 0, total)}
	for _, id := range ids {
		for _, to := range jc.AdjacencyList[id] {
			t, ok := number[to]
			if !ok {
				return edges{}, invalid(jc, "job %q comes before job %q, which is not in the chain", id, to)
			}
			e.to = append(e.to, t)
		}
		e.at = append(e.at, int32(len(e.to)))
	}
	return e, nil
}

func cycleText(ids []string, cycle []int32) string {
	const limit = 10
	var b strings.Builder
	for i, v := range cycle {
		if i == limit {
			b.WriteString("... -> ")
			break
		}
		b.WriteString(ids[v])
		b.WriteString(" -> ")
	}
	b.WriteString(ids[cycle[0]])
	return b.String()
}

// invalid returns the error for a job chain or an entry that cannot be right.
func invalid(jc *proto.JobChain, format string, args ...any) error {
	return proto.Errorf(proto.CodeInvalid, format, args...).ForRequest(jc.RequestID)
}
