package grapher

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/proto"
)

// Each picture shows the job chain, from left to right; * is a joint.
func TestBuildMakesTheGraphOfTheSpec(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		sequences []*spec.Sequence
		args      proto.Values
		want      string
	}{
		{
			// a --- b --- c
			name: "linear",
			sequences: []*spec.Sequence{seq("main",
				jobNode("a", "noop"), jobNode("b", "noop", after("a")), jobNode("c", "noop", after("b")))},
			want: lines("a-1 -> b-2", "b-2 -> c-3", "c-3"),
		},
		{
			//    ,- b -.
			// a -       - d
			//    `- c -'
			name: "diamond",
			sequences: []*spec.Sequence{seq("main",
				jobNode("a", "noop"), jobNode("b", "noop", after("a")), jobNode("c", "noop", after("a")),
				jobNode("d", "noop", after("b", "c")))},
			want: lines("a-1 -> b-2 c-3", "b-2 -> d-4", "c-3 -> d-4", "d-4"),
		},
		{
			// a    (nothing between them)
			// b
			name:      "unrelated jobs have no edges",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "noop"), jobNode("b", "noop"))},
			want:      lines("a-1", "b-2"),
		},
		{
			//    ,- b -.
			// a --- b --- c
			//    `- b -'
			name: "fan-out and fan-in need no joints",
			sequences: []*spec.Sequence{seq("main",
				jobNode("a", "noop"),
				jobNode("b", "noop", each("list:x"), after("a")),
				jobNode("c", "noop", after("b")))},
			args: proto.Values{"list": list("x", 3)},
			want: lines("a-1 -> b-2 b-3 b-4", "b-2 -> c-5", "b-3 -> c-5", "b-4 -> c-5", "c-5"),
		},
		{
			// a -. ,- b
			// a - * - b
			// a -' `- b
			name: "wide behind wide goes by one joint",
			sequences: []*spec.Sequence{seq("main",
				jobNode("a", "noop", each("list:x")),
				jobNode("b", "noop", each("list:x"), after("a")))},
			args: proto.Values{"list": list("x", 3)},
			want: lines("a-1 -> b-7", "a-2 -> b-7", "a-3 -> b-7", "b-4", "b-5", "b-6", "b-7 -> b-4 b-5 b-6"),
		},
		{
			// a -.,- b
			//     X       2*2 edges are no more than 2+2
			// a -'`- b
			name: "two by two needs no joint",
			sequences: []*spec.Sequence{seq("main",
				jobNode("a", "noop", each("list:x")),
				jobNode("b", "noop", each("list:x"), after("a")))},
			args: proto.Values{"list": list("x", 2)},
			want: lines("a-1 -> b-3 b-4", "a-2 -> b-3 b-4", "b-3", "b-4"),
		},
		{
			// a -. ,- b
			// a - *
			// a -' `- c
			name: "several dependents of a wide node share a joint",
			sequences: []*spec.Sequence{seq("main",
				jobNode("a", "noop", each("list:x")),
				jobNode("b", "noop", after("a")), jobNode("c", "noop", after("a")))},
			args: proto.Values{"list": list("x", 3)},
			want: lines("a-1 -> a-6", "a-2 -> a-6", "a-3 -> a-6", "b-4", "c-5", "a-6 -> b-4 c-5"),
		},
		{
			//     ,- x --.
			// a --        - b      dependents wait for all sinks of the sequence
			//     `- y --'
			name: "nested sequence",
			sequences: []*spec.Sequence{
				seq("main", jobNode("a", "noop"), seqNode("s", "inner", after("a")), jobNode("b", "noop", after("s"))),
				seq("inner", jobNode("x", "noop"), jobNode("y", "noop")),
			},
			want: lines("a-1 -> x-2 y-3", "x-2 -> b-4", "y-3 -> b-4", "b-4"),
		},
		{
			//     ,- x --- y -.
			// a --             - b
			//     `- x --- y -'
			name: "expanded sequence",
			sequences: []*spec.Sequence{
				seq("main", jobNode("a", "noop"), seqNode("s", "inner", each("list:x"), after("a")), jobNode("b", "noop", after("s"))),
				seq("inner", jobNode("x", "noop"), jobNode("y", "noop", after("x"))),
			},
			args: proto.Values{"list": list("x", 2)},
			want: lines("a-1 -> x-2 x-4", "x-2 -> y-3", "y-3 -> b-6", "x-4 -> y-5", "y-5 -> b-6", "b-6"),
		},
		{
			// a --- b        s stands between them and is empty
			name: "each over nothing lets dependents run",
			sequences: []*spec.Sequence{seq("main",
				jobNode("a", "noop"), jobNode("s", "noop", each("list:x"), after("a")), jobNode("b", "noop", after("s")))},
			args: proto.Values{"list": []any{}},
			want: lines("a-1 -> b-2", "b-2"),
		},
		{
			// a -. ,- b
			// a - *           five empty nodes between them change nothing
			// a -' `- c
			name: "empty nodes in a row",
			sequences: []*spec.Sequence{
				seq("main",
					jobNode("a", "noop", each("list:x")),
					jobNode("e1", "noop", each("none:x"), after("a")), jobNode("e2", "noop", each("none:x"), after("a")),
					seqNode("e3", "empty", after("e1", "e2"), given("none")),
					jobNode("b", "noop", after("e3", "e1")), jobNode("c", "noop", after("e3"))),
				seq("empty",
					jobNode("f", "noop", each("none:x")), jobNode("g", "noop", each("none:x"), after("f"))),
			},
			args: proto.Values{"list": list("x", 3), "none": []any{}},
			want: lines("a-1 -> a-6", "a-2 -> a-6", "a-3 -> a-6", "b-4", "c-5", "a-6 -> b-4 c-5"),
		},
		{
			// a --- x --- b      of the two sinks of s, one is empty: no edge a - b
			name: "an empty branch beside one that is not",
			sequences: []*spec.Sequence{
				seq("main", jobNode("a", "noop"), seqNode("s", "inner", after("a"), given("none")), jobNode("b", "noop", after("s"))),
				seq("inner", jobNode("w", "noop", each("none:n")), jobNode("x", "noop")),
			},
			args: proto.Values{"none": []any{}},
			want: lines("a-1 -> x-2", "x-2 -> b-3", "b-3"),
		},
		{
			// a --- y --- b
			name: "conditional",
			sequences: []*spec.Sequence{
				seq("main", jobNode("a", "noop"),
					ifNode("c", "mode", map[string]string{"5": "yes", "default": spec.NoopSequence}, after("a")),
					jobNode("b", "noop", after("c"))),
				seq("yes", jobNode("y", "noop")),
			},
			args: proto.Values{"mode": int64(5)},
			want: lines("a-1 -> y-2", "y-2 -> b-3", "b-3"),
		},
		{
			// a --- b
			name: "conditional that chooses noop",
			sequences: []*spec.Sequence{
				seq("main", jobNode("a", "noop"),
					ifNode("c", "mode", map[string]string{"5": "yes", "default": spec.NoopSequence}, after("a")),
					jobNode("b", "noop", after("c"))),
				seq("yes", jobNode("y", "noop")),
			},
			args: proto.Values{"mode": "5.0"},
			want: lines("a-1 -> b-2", "b-2"),
		},
		{
			// nothing at all
			name:      "a request without any job",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "noop", each("list:x")))},
			args:      proto.Values{"list": []any{}},
			want:      "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			jc := mustBuild(t, newSpecs(tt.sequences...), tt.args)
			if diff := cmp.Diff(tt.want, draw(jc)); diff != "" {
				t.Errorf("the graph differs (-want +got):\n%s", diff)
			}
			checkChain(t, jc)
		})
	}
}

// checkChain fails the test if the chain is not one: an id that is not what ids
// may be, an unknown id, a cycle, a joint that saves nothing.
func checkChain(t fataler, jc *proto.JobChain) {
	t.Helper()
	prev := map[string]int{}
	for id, next := range jc.AdjacencyList {
		if jc.Jobs[id] == nil || len(next) == 0 {
			t.Fatalf("adjacency list has %q -> %q", id, next)
		}
		seen := map[string]bool{}
		for _, n := range next {
			if jc.Jobs[n] == nil || seen[n] {
				t.Fatalf("edge %s -> %s is double or leads nowhere", id, n)
			}
			seen[n] = true
			prev[n]++
		}
	}
	var ready []string
	for id, j := range jc.Jobs {
		if id != j.ID || len(id) > 32 || !urlSafe(id) {
			t.Fatalf("job id %q", id)
		}
		if j.State != proto.StatePending || j.Data != nil || jc.Sequences[j.SequenceID] == nil {
			t.Fatalf("job %s: state %s, data %v, sequence %q", id, j.State, j.Data, j.SequenceID)
		}
		if k, n := prev[id], len(jc.AdjacencyList[id]); j.Structural && k*n <= k+n {
			t.Fatalf("joint %s has %d before and %d after it: it saves nothing", id, k, n)
		}
		if j.Group != "" && jc.Parallel[j.Group] == 0 {
			t.Fatalf("job %s is in group %q without a limit", id, j.Group)
		}
		if prev[id] == 0 {
			ready = append(ready, id)
		}
	}
	reached := 0
	for ; len(ready) > 0; reached++ {
		id := ready[0]
		ready = ready[1:]
		for _, n := range jc.AdjacencyList[id] {
			if prev[n]--; prev[n] == 0 {
				ready = append(ready, n)
			}
		}
	}
	if reached != len(jc.Jobs) {
		t.Fatalf("%d of %d jobs can be reached: there is a cycle", reached, len(jc.Jobs))
	}
	checkSequences(t, jc)
}

func checkSequences(t fataler, jc *proto.JobChain) {
	t.Helper()
	roots := 0
	for id, s := range jc.Sequences {
		if s.Parent == "" {
			roots++
		} else if jc.Sequences[s.Parent] == nil {
			t.Fatalf("sequence %s has the unknown parent %q", id, s.Parent)
		}
		if first := jc.Jobs[id]; first != nil {
			if first.SequenceID != id || first.SequenceRetry != s.Retry || first.SequenceRetryWait != s.RetryWait {
				t.Fatalf("first job of sequence %s: %+v", id, first)
			}
		}
		if s.Group != "" && jc.Parallel[s.Group] == 0 {
			t.Fatalf("sequence %s is in group %q without a limit", id, s.Group)
		}
	}
	if roots != min(1, len(jc.Jobs)) {
		t.Fatalf("%d sequences are that of the request", roots)
	}
}

// fataler is what testing.T and rapid.T have in common here.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func urlSafe(id string) bool {
	for _, c := range id {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return id != ""
}

func TestWideNodesKeepEdgesLinear(t *testing.T) {
	t.Parallel()
	const n = 1000
	// a*n, b*n --- c*n, d*n: all of c and d behind all of a and b
	specs := newSpecs(seq("main",
		jobNode("a", "noop", each("list:x")), jobNode("b", "noop", each("list:x")),
		jobNode("c", "noop", each("list:x"), after("a", "b")), jobNode("d", "noop", each("list:x"), after("a", "b"))))
	jc := mustBuild(t, specs, proto.Values{"list": list("x", n)})
	checkChain(t, jc)
	edges := 0
	for _, next := range jc.AdjacencyList {
		edges += len(next)
	}
	if joints := len(jc.Jobs) - 4*n; edges > 4*n+8 || joints > 4 {
		t.Errorf("%d edges and %d joints, want at most %d and 4", edges, joints, 4*n+8)
	}
	if total := jc.TotalJobs(); total != 4*n {
		t.Errorf("TotalJobs = %d, want %d: joints are not the user's", total, 4*n)
	}
}

func TestJobIDsNameTheNode(t *testing.T) {
	t.Parallel()
	tests := []struct{ node, want string }{
		{"stop-host", "stop-host-1"},
		{"Stop Host", "stop-host-1"},
		{"__x__y__", "x-y-1"},
		{"größe", "gr-e-1"},
		{"日本", "job-1"},
		{"a-very-long-name-of-a-node-that-goes-on", "a-very-long-name-of-a-1"},
	}
	for _, tt := range tests {
		t.Run(tt.node, func(t *testing.T) {
			t.Parallel()
			jc := mustBuild(t, newSpecs(seq("main", jobNode(tt.node, "noop"))), nil)
			j, ok := jc.Jobs[tt.want]
			if !ok || j.Name != tt.node {
				t.Fatalf("want job %s named %q, got %s", tt.want, tt.node, draw(jc))
			}
			checkChain(t, jc)
		})
	}
}

func TestSameSpecAndArgsGiveTheSameChain(t *testing.T) {
	t.Parallel()
	specs := newSpecs(
		seq("main",
			jobNode("a", "noop", each("list:x"), parallel(2)),
			seqNode("s", "inner", each("list:x"), after("a"), parallel(3)),
			jobNode("b", "noop", each("list:x"), after("s")), jobNode("c", "noop", after("a", "s"))),
		seq("inner", seqNode("p", "leaf"), seqNode("q", "leaf")),
		seq("leaf", jobNode("y", "noop"), jobNode("z", "noop", after("y"))))
	args := proto.Values{"list": list("x", 5)}
	first := toJSON(t, mustBuild(t, specs, args))
	for i := range 20 {
		if diff := cmp.Diff(first, toJSON(t, mustBuild(t, specs, args))); diff != "" {
			t.Fatalf("build %d differs (-first +this):\n%s", i+2, diff)
		}
	}
}

func benchmarkBuild(b *testing.B, n int) {
	specs := newSpecs(
		seq("main", seqNode("s", "one", each("list:x"), parallel(50))),
		seq("one", jobNode("a", "noop", given("x"))))
	specs.Sequences["one"].Args.Required = []*spec.Arg{{Name: "x"}}
	args := proto.Values{"list": list("host", n)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := specs.Build(b.Context(), "req", "main", args, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/job")
}

func BenchmarkBuild3(b *testing.B)      { benchmarkBuild(b, 3) }
func BenchmarkBuild1000(b *testing.B)   { benchmarkBuild(b, 1000) }
func BenchmarkBuild10000(b *testing.B)  { benchmarkBuild(b, 10_000) }
func BenchmarkBuild100000(b *testing.B) { benchmarkBuild(b, 100_000) }

// BenchmarkBuildLinear1000 is a chain of 1,000 jobs in a row.
func BenchmarkBuildLinear1000(b *testing.B) {
	var nodes []*spec.Node
	for i := range 1000 {
		n := jobNode(fmt.Sprintf("n%03d", i), "noop")
		if i > 0 {
			n.Deps = []string{fmt.Sprintf("n%03d", i-1)}
		}
		nodes = append(nodes, n)
	}
	specs := newSpecs(seq("main", nodes...))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := specs.Build(b.Context(), "req", "main", nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}
