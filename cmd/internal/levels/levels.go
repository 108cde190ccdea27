// Package levels puts the jobs of a chain into an order in which they can run.
package levels

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-run/treadle/proto"
)

// Job is a job with its place in the chain.
type Job struct {
	*proto.Job
	// Level is the length of the longest path from the start of the chain: 1 for a
	// job that depends on nothing. A structural job has the level of the jobs before it.
	Level int
	After []string // ids of the jobs before it, sorted
}

// Of returns all jobs of the chain in an order in which they can run, by
// level, then id. Jobs in a cycle, which no chain has, are left out.
func Of(jc *proto.JobChain) []Job {
	at := make(map[string]*Job, len(jc.Jobs))
	waits := make(map[string]int, len(jc.Jobs))
	for id, j := range jc.Jobs {
		at[id] = &Job{Job: j}
	}
	for _, from := range slices.Sorted(maps.Keys(jc.AdjacencyList)) {
		for _, to := range jc.AdjacencyList[from] {
			if p, ok := at[to]; ok {
				p.After = append(p.After, from)
				waits[to]++
			}
		}
	}
	var ready []string
	for id, p := range at {
		if waits[id] == 0 {
			ready = append(ready, id)
			p.Level = step(p.Job)
		}
	}
	out := make([]Job, 0, len(at))
	for ; len(ready) > 0; ready = ready[1:] {
		p := at[ready[0]]
		out = append(out, *p)
		for _, to := range jc.AdjacencyList[ready[0]] {
			next, ok := at[to]
			if !ok {
				continue
			}
			next.Level = max(next.Level, p.Level+step(next.Job))
			if waits[to]--; waits[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	// Structural jobs come after the others of their level.
	slices.SortFunc(out, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(step(b.Job), step(a.Job)), CompareIDs(a.ID, b.ID))
	})
	return out
}

// step is what a job adds to the level: structural jobs run in no time.
func step(j *proto.Job) int {
	if j.Structural {
		return 0
	}
	return 1
}

// CompareIDs orders ids by the number they end in. Ids are numbered as the chain is
// built, so this is the order of the spec.
func CompareIDs(a, b string) int {
	return cmp.Or(cmp.Compare(idNumber(a), idNumber(b)), cmp.Compare(a, b))
}

func idNumber(id string) uint64 {
	n, err := strconv.ParseUint(id[strings.LastIndexByte(id, '-')+1:], 36, 64)
	if err != nil {
		return math.MaxUint64
	}
	return n
}
