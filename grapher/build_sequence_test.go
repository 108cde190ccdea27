package grapher

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/proto"
)

func TestJobsTakeOverTheOptionsOfTheirNode(t *testing.T) {
	t.Parallel()
	n := jobNode("a", "noop", func(n *spec.Node) {
		n.Retry, n.RetryWait, n.RetryBackoff = 3, proto.Duration(time.Second), 2
		n.RetryWaitMax, n.Timeout, n.Idempotent = proto.Duration(time.Minute), proto.Duration(time.Hour), false
	})
	jc := mustBuild(t, newSpecs(seq("main", n)), nil)
	want := &proto.Job{
		ID: "a-1", Name: "a", Type: "noop", Bytes: []byte("{}"), State: proto.StatePending, Args: proto.Values{},
		Retry: 3, RetryWait: proto.Duration(time.Second), RetryBackoff: 2,
		RetryWaitMax: proto.Duration(time.Minute), Timeout: proto.Duration(time.Hour),
		NotIdempotent: true, SequenceID: "a-1",
	}
	if diff := cmp.Diff(want, jc.Jobs["a-1"]); diff != "" {
		t.Errorf("the job differs (-want +got):\n%s", diff)
	}
}

// The picture of each case has its sequences in brackets.
func TestSequencesOfAChain(t *testing.T) {
	t.Parallel()
	retry := func(n *spec.Node) {
		n.Retry, n.RetryWait, n.RetryBackoff = 2, proto.Duration(time.Second), 3
		n.RetryWaitMax, n.Timeout = proto.Duration(time.Minute), proto.Duration(time.Hour)
	}
	retried := func(name, parent string) *proto.Sequence {
		return &proto.Sequence{
			Name: name, Parent: parent, Retry: 2, RetryWait: proto.Duration(time.Second), RetryBackoff: 3,
			RetryWaitMax: proto.Duration(time.Minute), Timeout: proto.Duration(time.Hour),
		}
	}
	tests := []struct {
		name      string
		sequences []*spec.Sequence
		args      proto.Values
		want      map[string]*proto.Sequence
		jobs      map[string]string // sequence of each job
	}{
		{
			// [a --- [x --- y] --- b]
			name: "nested, with a retry",
			sequences: []*spec.Sequence{
				seq("main", jobNode("a", "noop"), seqNode("s", "inner", after("a"), retry), jobNode("b", "noop", after("s"))),
				seq("inner", jobNode("x", "noop"), jobNode("y", "noop", after("x"))),
			},
			want: map[string]*proto.Sequence{"a-1": {Name: "main"}, "x-2": retried("inner", "a-1")},
			jobs: map[string]string{"a-1": "a-1", "x-2": "x-2", "y-3": "x-2", "b-4": "a-1"},
		},
		{
			// [[x] --- a]       the first job of main comes behind that of inner
			name: "a sequence is named by its own first job",
			sequences: []*spec.Sequence{
				seq("main", ifNode("c", "mode", map[string]string{"on": "inner"}, retry), jobNode("a", "noop", after("c"))),
				seq("inner", jobNode("x", "noop")),
			},
			args: proto.Values{"mode": "on"},
			want: map[string]*proto.Sequence{"a-2": {Name: "main"}, "x-1": retried("inner", "a-2")},
			jobs: map[string]string{"x-1": "x-1", "a-2": "a-2"},
		},
		{
			// [[[x]] [[x]]]
			name: "sequences of sequences alone have names of their own",
			sequences: []*spec.Sequence{
				seq("main", seqNode("s", "middle", each("l:e"), retry)),
				seq("middle", seqNode("t", "inner")),
				seq("inner", jobNode("x", "noop")),
			},
			args: proto.Values{"l": list("e", 2)},
			want: map[string]*proto.Sequence{
				"main-3":   {Name: "main"},
				"middle-4": retried("middle", "main-3"), "x-1": {Name: "inner", Parent: "middle-4"},
				"middle-5": retried("middle", "main-3"), "x-2": {Name: "inner", Parent: "middle-5"},
			},
			jobs: map[string]string{"x-1": "x-1", "x-2": "x-2"},
		},
		{
			// [[x] -. ,- [x]]
			// [[x] - * - [x]]      the joint of main is its only own job
			// [[x] -' `- [x]]
			name: "a sequence without jobs goes by its joint",
			sequences: []*spec.Sequence{
				seq("main", seqNode("s", "inner", each("l:e")), seqNode("t", "inner", each("l:e"), after("s"))),
				seq("inner", jobNode("x", "noop")),
			},
			args: proto.Values{"l": list("e", 3)},
			want: map[string]*proto.Sequence{
				"t-7": {Name: "main"},
				"x-1": {Name: "inner", Parent: "t-7"}, "x-2": {Name: "inner", Parent: "t-7"}, "x-3": {Name: "inner", Parent: "t-7"},
				"x-4": {Name: "inner", Parent: "t-7"}, "x-5": {Name: "inner", Parent: "t-7"}, "x-6": {Name: "inner", Parent: "t-7"},
			},
			jobs: map[string]string{"x-1": "x-1", "x-2": "x-2", "x-3": "x-3", "x-4": "x-4", "x-5": "x-5", "x-6": "x-6", "t-7": "t-7"},
		},
		{
			// [a --- [x x x] -. ,- b]
			//                  *
			//                  '`- c]     the joint is of main, not of the retried sequence
			name: "what gathers the ends of a sequence is not part of it",
			sequences: []*spec.Sequence{
				seq("main", jobNode("a", "noop"), seqNode("s", "inner", after("a"), given("l"), retry),
					jobNode("b", "noop", after("s")), jobNode("c", "noop", after("s"))),
				seq("inner", jobNode("x", "noop", each("l:e"))),
			},
			args: proto.Values{"l": list("e", 3)},
			want: map[string]*proto.Sequence{"a-1": {Name: "main"}, "x-2": retried("inner", "a-1")},
			jobs: map[string]string{"a-1": "a-1", "x-2": "x-2", "x-3": "x-2", "x-4": "x-2", "b-5": "a-1", "c-6": "a-1", "s-7": "a-1"},
		},
		{
			// [a --- b]
			name: "sequences without jobs are left out",
			sequences: []*spec.Sequence{
				seq("main", jobNode("a", "noop"), seqNode("s", "empty", after("a"), given("l"), retry),
					seqNode("t", spec.NoopSequence, after("a"), retry), jobNode("b", "noop", after("s", "t"))),
				seq("empty", jobNode("x", "noop", each("l:e"))),
			},
			args: proto.Values{"l": []any{}},
			want: map[string]*proto.Sequence{"a-1": {Name: "main"}},
			jobs: map[string]string{"a-1": "a-1", "b-2": "a-1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			jc := mustBuild(t, newSpecs(tt.sequences...), tt.args)
			checkChain(t, jc)
			if diff := cmp.Diff(tt.want, jc.Sequences); diff != "" {
				t.Errorf("sequences differ (-want +got):\n%s", diff)
			}
			jobs := map[string]string{}
			for id, j := range jc.Jobs {
				jobs[id] = j.SequenceID
			}
			if diff := cmp.Diff(tt.jobs, jobs); diff != "" {
				t.Errorf("sequences of the jobs differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTimeoutOfARequestSequence(t *testing.T) {
	t.Parallel()
	main := seq("main", seqNode("s", "inner"), jobNode("a", "noop"))
	inner := seq("inner", jobNode("x", "noop"))
	main.Timeout, inner.Timeout = proto.Duration(time.Hour), proto.Duration(time.Minute)
	jc := mustBuild(t, newSpecs(main, inner), nil)
	want := map[string]*proto.Sequence{
		"a-1": {Name: "main", Timeout: proto.Duration(time.Hour)},
		// Its timeout is for requests; here the node says how long.
		"x-2": {Name: "inner", Parent: "a-1"},
	}
	if diff := cmp.Diff(want, jc.Sequences); diff != "" {
		t.Errorf("sequences differ (-want +got):\n%s", diff)
	}
}

func TestParallelGroups(t *testing.T) {
	t.Parallel()
	inner := seq("inner", jobNode("x", "noop"), jobNode("y", "noop", after("x")))
	tests := []struct {
		name   string
		node   *spec.Node
		limits map[string]uint
		groups map[string]string // of jobs and sequences that are in one
	}{
		{"jobs", jobNode("a", "noop", each("l:e"), parallel(2)), map[string]uint{"a-1": 2},
			map[string]string{"a-2": "a-1", "a-3": "a-1", "a-4": "a-1"}},
		{"sequences, not their jobs", seqNode("s", "inner", each("l:e"), parallel(1)), map[string]uint{"s-1": 1},
			map[string]string{"x-2": "s-1", "x-4": "s-1", "x-6": "s-1"}},
		{"room for all is no limit", jobNode("a", "noop", each("l:e"), parallel(3)), map[string]uint{}, map[string]string{}},
		{"nothing in it is no group", seqNode("s", spec.NoopSequence, each("l:e"), parallel(2)), map[string]uint{}, map[string]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			jc := mustBuild(t, newSpecs(seq("main", tt.node), inner), proto.Values{"l": list("e", 3)})
			checkChain(t, jc)
			groups := map[string]string{}
			for id, j := range jc.Jobs {
				if j.Group != "" {
					groups[id] = j.Group
				}
			}
			for id, s := range jc.Sequences {
				if s.Group != "" {
					groups[id] = s.Group
				}
			}
			if diff := cmp.Diff(tt.groups, groups); diff != "" {
				t.Errorf("members differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.limits, jc.Parallel); diff != "" {
				t.Errorf("limits differ (-want +got):\n%s", diff)
			}
		})
	}
}

// Every run of a node has a group of its own, also within one node of another
// sequence.
func TestParallelGroupsAreThoseOfANodeInstance(t *testing.T) {
	t.Parallel()
	specs := newSpecs(
		seq("main", seqNode("s", "inner", each("l:e"), given("l"))),
		seq("inner", jobNode("x", "noop", each("l:f"), parallel(1))))
	jc := mustBuild(t, specs, proto.Values{"l": list("e", 2)})
	want := map[string]uint{"x-1": 1, "x-4": 1}
	if diff := cmp.Diff(want, jc.Parallel); diff != "" {
		t.Errorf("groups differ (-want +got):\n%s", diff)
	}
}
