package grapher

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/proto"
)

// drawnSpecs is a random request: sequences that call later ones only, over
// lists of random lengths.
type drawnSpecs struct {
	sequences []*spec.Sequence
	args      proto.Values
}

var drawnArgs = []string{"l0", "l1", "l2", "mode"}

func drawSpecs(t *rapid.T) drawnSpecs {
	d := drawnSpecs{args: proto.Values{"mode": rapid.SampledFrom([]any{"a", "b", int64(7)}).Draw(t, "mode")}}
	for i := range 3 {
		d.args[fmt.Sprintf("l%d", i)] = list("e", rapid.IntRange(0, 4).Draw(t, "length"))
	}
	count := rapid.IntRange(1, 4).Draw(t, "sequences")
	for i := range count {
		name := fmt.Sprintf("s%d", i)
		if i == 0 {
			name = "main"
		}
		var nodes []*spec.Node
		for k := range rapid.IntRange(1, 5).Draw(t, "nodes") {
			nodes = append(nodes, drawNode(t, k, i+1, count))
		}
		d.sequences = append(d.sequences, seq(name, nodes...))
	}
	return d
}

// drawNode draws node k of a sequence that may call sequences first to last-1.
func drawNode(t *rapid.T, k, first, last int) *spec.Node {
	name := fmt.Sprintf("n%d", k)
	callee := func() string {
		if first == last {
			return spec.NoopSequence
		}
		return fmt.Sprintf("s%d", rapid.IntRange(first, last-1).Draw(t, "callee"))
	}
	var n *spec.Node
	switch rapid.IntRange(0, 5).Draw(t, "category") {
	case 0, 1:
		n = seqNode(name, callee(), given(drawnArgs...))
	case 2:
		eq := map[string]string{"a": callee(), "7": spec.NoopSequence, "default": callee()}
		n = ifNode(name, "mode", eq, given(drawnArgs...))
	default:
		n = jobNode(name, "noop")
	}
	if l := rapid.IntRange(0, 5).Draw(t, "each"); l < 3 {
		n.Each = []*spec.Each{{List: fmt.Sprintf("l%d", l), Element: "x"}}
		n.Parallel = uint(rapid.IntRange(0, 3).Draw(t, "parallel"))
	}
	n.Retry = uint(rapid.IntRange(0, 1).Draw(t, "retry"))
	for dep := range k {
		if rapid.IntRange(0, 2).Draw(t, "dep") == 0 {
			n.Deps = append(n.Deps, fmt.Sprintf("n%d", dep))
		}
	}
	return n
}

// expected is what a chain must be, worked out the slow and plain way: for each
// job, in the order in which they are made, what must come before it.
type expected struct {
	specs   map[string]*spec.Sequence
	args    proto.Values
	jobs    []string       // name of the node
	inside  []int          // which run of a sequence each job is directly in
	before  []map[int]bool // jobs that must come before each job
	runs    []string       // name of the sequence of each run
	members int            // upper bound for the edges that nodes need
}

// sequence adds a run of the sequence and returns its jobs.
func (x *expected) sequence(name string) []int {
	if name == spec.NoopSequence {
		return nil
	}
	run := len(x.runs)
	x.runs = append(x.runs, name)
	var all []int
	jobsOf := map[string][]int{}
	for _, n := range x.specs[name].Order {
		jobs := x.node(n, run)
		jobsOf[n.Name] = jobs
		for earlier := range x.ancestors(name, n) {
			for _, i := range jobsOf[earlier] {
				for _, j := range jobs {
					x.before[j][i] = true
				}
			}
		}
		all = append(all, jobs...)
	}
	return all
}

// ancestors returns the nodes that n depends on, directly or not.
func (x *expected) ancestors(sequence string, n *spec.Node) map[string]bool {
	found := map[string]bool{}
	for _, dep := range n.Deps {
		found[dep] = true
		maps.Copy(found, x.ancestors(sequence, x.specs[sequence].Nodes[dep]))
	}
	return found
}

func (x *expected) node(n *spec.Node, run int) []int {
	count := 1
	if len(n.Each) > 0 {
		count = len(x.args[n.Each[0].List].([]any))
	}
	var jobs []int
	for range count {
		x.members += max(1, len(n.Deps))
		switch n.Category {
		case spec.CategoryJob:
			jobs = append(jobs, len(x.jobs))
			x.jobs = append(x.jobs, n.Name)
			x.inside = append(x.inside, run)
			x.before = append(x.before, map[int]bool{})
		case spec.CategorySequence:
			jobs = append(jobs, x.sequence(n.Type)...)
		case spec.CategoryConditional:
			name, ok := n.Eq[proto.Text(x.args["mode"])]
			if !ok {
				name = n.Eq["default"]
			}
			jobs = append(jobs, x.sequence(name)...)
		}
	}
	return jobs
}

func TestAnyChainIsTheOneItsSpecDescribes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := drawSpecs(t)
		specs := newSpecs(d.sequences...)
		specs.limits.Jobs = 300
		jc, err := specs.Build(t.Context(), "req", "main", d.args, nil)
		if proto.ErrorCode(err) == proto.CodeUnprocessable && strings.Contains(err.Error(), "limits.jobs") {
			t.Skip("too large to compare")
		}
		if err != nil {
			t.Fatalf("Build: %v", err)
		}
		checkChain(t, jc)
		x := &expected{specs: specs.Sequences, args: d.args}
		x.sequence("main")
		ids := x.checkJobs(t, jc)
		x.checkOrder(t, jc, ids)
		x.checkSequences(t, jc, ids)
		edges := 0
		for _, next := range jc.AdjacencyList {
			edges += len(next)
		}
		if most := len(jc.Jobs) + x.members; edges > most {
			t.Fatalf("%d edges, want at most %d", edges, most)
		}
	})
}

// checkJobs compares the jobs and returns the id of each.
func (x *expected) checkJobs(t *rapid.T, jc *proto.JobChain) []string {
	var ids []string
	for id, j := range jc.Jobs {
		if !j.Structural {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return strings.Compare(counterOf(a), counterOf(b)) })
	if len(ids) != len(x.jobs) || jc.TotalJobs() != uint(len(x.jobs)) {
		t.Fatalf("%d jobs, want %d", len(ids), len(x.jobs))
	}
	for i, id := range ids {
		if jc.Jobs[id].Name != x.jobs[i] {
			t.Fatalf("job %s is of node %s, want %s", id, jc.Jobs[id].Name, x.jobs[i])
		}
	}
	return ids
}

// checkOrder compares, for every pair of jobs, whether one is ordered before the
// other.
func (x *expected) checkOrder(t *rapid.T, jc *proto.JobChain, ids []string) {
	for i, id := range ids {
		after := map[string]bool{}
		open := slices.Clone(jc.AdjacencyList[id])
		for len(open) > 0 {
			next := open[len(open)-1]
			open = open[:len(open)-1]
			if !after[next] {
				after[next] = true
				open = append(open, jc.AdjacencyList[next]...)
			}
		}
		for k, other := range ids {
			if after[other] != x.before[k][i] {
				t.Fatalf("job %s is before %s: %v, want %v\n%s", id, other, after[other], x.before[k][i], draw(jc))
			}
		}
	}
}

// checkSequences checks that jobs share a sequence of the chain if and only if
// they are of one run of a sequence.
func (x *expected) checkSequences(t *rapid.T, jc *proto.JobChain, ids []string) {
	of := map[int]string{}
	taken := map[string]bool{}
	for i, id := range ids {
		run, got := x.inside[i], jc.Jobs[id].SequenceID
		want, known := of[run]
		if !known {
			if taken[got] || got != id {
				t.Fatalf("job %s is the first of its sequence, but in %s", id, got)
			}
			of[run], taken[got] = got, true
			if s := jc.Sequences[got]; s.Name != x.runs[run] {
				t.Fatalf("sequence %s is of %s, want %s", got, s.Name, x.runs[run])
			}
		} else if got != want {
			t.Fatalf("job %s is in sequence %s, want %s", id, got, want)
		}
	}
}
