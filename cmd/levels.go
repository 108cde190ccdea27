package cmd

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-run/treadle/proto"
)

// placed is a job with its place in the chain.
type placed struct {
	job *proto.Job
	// level is the length of the longest way from the start of the chain: 1 for a
	// job that depends on nothing. Joints have that of what is before them.
	level int
	after []string // ids of the jobs before it, sorted
}

// levels returns all jobs of the chain in an order in which they can run, by
// level, then id. Jobs in a circle, which no chain has, are left out.
func levels(jc *proto.JobChain) []placed {
	at := make(map[string]*placed, len(jc.Jobs))
	waits := make(map[string]int, len(jc.Jobs))
	for id, j := range jc.Jobs {
		at[id] = &placed{job: j}
	}
	for _, from := range slices.Sorted(maps.Keys(jc.AdjacencyList)) {
		for _, to := range jc.AdjacencyList[from] {
			if p, ok := at[to]; ok {
				p.after = append(p.after, from)
				waits[to]++
			}
		}
	}
	var ready []string
	for id, p := range at {
		if waits[id] == 0 {
			ready = append(ready, id)
			p.level = step(p.job)
		}
	}
	out := make([]placed, 0, len(at))
	for ; len(ready) > 0; ready = ready[1:] {
		p := at[ready[0]]
		out = append(out, *p)
		for _, to := range jc.AdjacencyList[ready[0]] {
			next, ok := at[to]
			if !ok {
				continue
			}
			next.level = max(next.level, p.level+step(next.job))
			if waits[to]--; waits[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	// Joints stand behind the jobs of their level.
	slices.SortFunc(out, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(step(b.job), step(a.job)), compareIDs(a.job.ID, b.job.ID))
	})
	return out
}

// step is what a job adds to the level: joints run in no time.
func step(j *proto.Job) int {
	if j.Structural {
		return 0
	}
	return 1
}

// compareIDs orders ids by the number they end in: ids are counted as the chain
// is built, so this is the order of the spec.
func compareIDs(a, b string) int {
	return cmp.Or(cmp.Compare(idNumber(a), idNumber(b)), cmp.Compare(a, b))
}

func idNumber(id string) uint64 {
	n, err := strconv.ParseUint(id[strings.LastIndexByte(id, '-')+1:], 36, 64)
	if err != nil {
		return math.MaxUint64
	}
	return n
}
