package grapher

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// Each case has the args that the jobs of node "last" were created with.
func TestArgsFlowThroughTheSpec(t *testing.T) {
	t.Parallel()
	withArgs := func(s *spec.Sequence, args spec.SequenceArgs) *spec.Sequence {
		s.Args = args
		return s
	}
	tests := []struct {
		name      string
		sequences []*spec.Sequence
		args      proto.Values
		want      []proto.Values
	}{
		{
			name:      "a node sees only the args it lists, by its names for them",
			sequences: []*spec.Sequence{seq("main", jobNode("last", "noop", given("a", "other=b")))},
			args:      proto.Values{"a": "1", "b": "2", "c": "3"},
			want:      []proto.Values{{"a": "1", "other": "2"}},
		},
		{
			name: "literals",
			sequences: []*spec.Sequence{seq("main", jobNode("last", "noop",
				literal("n", int64(3)), literal("l", []any{"x", true}), literal("null", nil)))},
			want: []proto.Values{{"n": int64(3), "l": []any{"x", true}, "null": nil}},
		},
		{
			name:      "numbers keep their types",
			sequences: []*spec.Sequence{seq("main", jobNode("last", "noop", given("i", "u", "f", "deep")))},
			args: proto.Values{
				"i": int64(math.MaxInt64), "u": uint64(math.MaxUint64), "f": 3.0,
				"deep": map[string]any{"l": []any{int64(9007199254740993), 1e300}},
			},
			want: []proto.Values{{
				"i": int64(math.MaxInt64), "u": uint64(math.MaxUint64), "f": 3.0,
				"deep": map[string]any{"l": []any{int64(9007199254740993), 1e300}},
			}},
		},
		{
			name:      "each over two lists goes in step",
			sequences: []*spec.Sequence{seq("main", jobNode("last", "noop", each("hosts:host", "ports:port"), given("user")))},
			args:      proto.Values{"hosts": []any{"a", "b"}, "ports": []any{int64(1), int64(2)}, "user": "u"},
			want: []proto.Values{
				{"host": "a", "port": int64(1), "user": "u"},
				{"host": "b", "port": int64(2), "user": "u"},
			},
		},
		{
			// split --- last
			name: "what a job sets, under another name",
			sequences: []*spec.Sequence{seq("main",
				jobNode("split", "split", given("string=names"), sets("list>hosts")),
				jobNode("last", "noop", given("hosts"), after("split")))},
			args: proto.Values{"names": "a,b"},
			want: []proto.Values{{"hosts": []any{"a", "b"}}},
		},
		{
			// split --- last (a), last (b)
			name: "each over a list that a job set",
			sequences: []*spec.Sequence{seq("main",
				jobNode("split", "split", given("string=names"), sets("list")),
				jobNode("last", "noop", each("list:x"), after("split")))},
			args: proto.Values{"names": "a,b"},
			want: []proto.Values{{"x": "a"}, {"x": "b"}},
		},
		{
			name: "a job is created with its args and what it set itself",
			sequences: []*spec.Sequence{seq("main",
				jobNode("last", "upper", given("text")))},
			args: proto.Values{"text": "a"},
			want: []proto.Values{{"text": "a", "upper": "A"}},
		},
		{
			// (upper) --- last     the set goes out of the sequence
			name: "what a sequence sets",
			sequences: []*spec.Sequence{
				seq("main", seqNode("s", "inner", given("text=name"), sets("big>NAME")),
					jobNode("last", "noop", given("NAME"), after("s"))),
				seq("inner", jobNode("u", "upper", given("text"), sets("upper>big"))),
			},
			args: proto.Values{"name": "a"},
			want: []proto.Values{{"NAME": "A"}},
		},
		{
			name: "defaults and statics of a called sequence",
			sequences: []*spec.Sequence{
				seq("main", seqNode("s", "inner", given("o2", "s1"))),
				withArgs(seq("inner", jobNode("last", "noop", given("o1", "o2", "s1", "s2"))), spec.SequenceArgs{
					Optional: []*spec.Arg{{Name: "o1", Default: "default"}, {Name: "o2", Default: "default"}},
					Static:   []*spec.Arg{{Name: "s1", Default: "static"}, {Name: "s2", Default: "static"}},
				}),
			},
			args: proto.Values{"o2": "given", "s1": "wins"},
			want: []proto.Values{{"o1": "default", "o2": "given", "s1": "wins", "s2": "static"}},
		},
		{
			name: "a null that is given is no reason for a default",
			sequences: []*spec.Sequence{
				seq("main", seqNode("s", "inner", given("o"))),
				withArgs(seq("inner", jobNode("last", "noop", given("o"))), spec.SequenceArgs{
					Optional: []*spec.Arg{{Name: "o", Default: "default"}},
				}),
			},
			args: proto.Values{"o": nil},
			want: []proto.Values{{"o": nil}},
		},
		{
			name: "a sequence gets the elements, and a conditional its `if` arg",
			sequences: []*spec.Sequence{
				seq("main", ifNode("c", "mode", map[string]string{"true": "inner"}, each("hosts:host"))),
				seq("inner", jobNode("last", "noop", given("mode", "host"))),
			},
			args: proto.Values{"mode": true, "hosts": []any{"a", "b"}},
			want: []proto.Values{{"mode": true, "host": "a"}, {"mode": true, "host": "b"}},
		},
		{
			name: "a conditional over an element chooses for each expansion",
			sequences: []*spec.Sequence{
				seq("main", ifNode("c", "mode", map[string]string{"1": "inner", "default": spec.NoopSequence}, each("modes:mode"))),
				seq("inner", jobNode("last", "noop", given("mode"))),
			},
			args: proto.Values{"modes": []any{int64(1), "2", "1"}},
			want: []proto.Values{{"mode": int64(1)}, {"mode": "1"}},
		},
		{
			// upper (a), upper (b) --- last
			name: "collect makes a list in order",
			sequences: []*spec.Sequence{seq("main",
				jobNode("u", "upper", each("names:text"), collects("upper>big")),
				jobNode("last", "noop", given("big"), after("u")))},
			args: proto.Values{"names": []any{"a", "b", "a"}},
			want: []proto.Values{{"big": []any{"A", "B", "A"}}},
		},
		{
			name: "expansions may set the same value",
			sequences: []*spec.Sequence{seq("main",
				jobNode("u", "upper", each("names:x"), given("text"), sets("upper")),
				jobNode("last", "noop", given("upper"), after("u")))},
			args: proto.Values{"names": []any{"a", "b"}, "text": "t"},
			want: []proto.Values{{"upper": "T"}},
		},
		{
			name: "an expansion does not see what another set",
			sequences: []*spec.Sequence{seq("main",
				jobNode("last", "upper", each("names:x"), given("text"), sets("upper>text")))},
			args: proto.Values{"names": []any{"a", "b"}, "text": "t"},
			want: []proto.Values{{"x": "a", "text": "t", "upper": "T"}, {"x": "b", "text": "t", "upper": "T"}},
		},
		{
			name: "each over an empty list sets empty lists",
			sequences: []*spec.Sequence{seq("main",
				jobNode("u", "upper", each("names:text"), sets("upper>one"), collects("upper>all")),
				jobNode("last", "noop", given("one", "all"), after("u")))},
			args: proto.Values{"names": []any{}},
			want: []proto.Values{{"one": []any{}, "all": []any{}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := tt.args.Clone()
			jc := mustBuild(t, newSpecs(tt.sequences...), tt.args)
			var got []proto.Values
			for _, j := range jobsNamed(jc, "last") {
				got = append(got, j.CreatedArgs())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("args of node last differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.args); diff != "" {
				t.Errorf("Build changed the args it was given (-before +after):\n%s", diff)
			}
		})
	}
}

func TestJobsDoNotShareArgs(t *testing.T) {
	t.Parallel()
	specs := newSpecs(seq("main",
		jobNode("a", "spoil", each("names:x"), given("names")),
		jobNode("b", "noop", given("names"), after("a"))))
	specs.registry = buildRegistry(map[string]createFunc{
		"spoil": func(_ context.Context, args job.Values) error {
			args["names"].([]any)[0].(map[string]any)["host"] = args["x"]
			return nil
		},
	})
	args := proto.Values{"names": []any{map[string]any{"host": "h1"}, "h2"}}
	jc := mustBuild(t, specs, args)
	want := []any{map[string]any{"host": "h1"}, "h2"}
	if diff := cmp.Diff(proto.Values{"names": want}, jobsNamed(jc, "b")[0].Args); diff != "" {
		t.Errorf("a job changed the args of another (-want +got):\n%s", diff)
	}
	if got := jobsNamed(jc, "a")[1].Args["names"]; !cmp.Equal(got, any(want)) {
		t.Errorf("the args of a job are not what the spec gave: %v", got)
	}
	if got := jobsNamed(jc, "a")[1].CreatedArgs()["names"]; !cmp.Equal(got, any([]any{map[string]any{"host": "h2"}, "h2"})) {
		t.Errorf("an expansion lost what it changed in its own args: %v", got)
	}
}

func TestArgsAndWhatCreateSetStandApart(t *testing.T) {
	t.Parallel()
	specs := newSpecs(seq("main", jobNode("a", "sets", given("same", "changed", "dropped"))))
	specs.registry = buildRegistry(map[string]createFunc{
		"sets": func(_ context.Context, args job.Values) error {
			args["same"], args["changed"], args["added"] = []any{"s"}, int64(2), "new"
			delete(args, "dropped")
			return nil
		},
	})
	given := proto.Values{"same": []any{"s"}, "changed": int64(1), "dropped": "d"}
	j := jobsNamed(mustBuild(t, specs, given), "a")[0]
	if diff := cmp.Diff(given, j.Args); diff != "" {
		t.Errorf("args are not what the spec gave (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(proto.Values{"changed": int64(2), "added": "new"}, j.Sets); diff != "" {
		t.Errorf("what Create set (-want +got):\n%s", diff)
	}
	all := proto.Values{"same": []any{"s"}, "changed": int64(2), "added": "new", "dropped": "d"}
	if diff := cmp.Diff(all, j.CreatedArgs()); diff != "" {
		t.Errorf("what the job runs with (-want +got):\n%s", diff)
	}
}

func TestJobsKeepWhatTheyNeedToRun(t *testing.T) {
	t.Parallel()
	type greet struct {
		job.Job `json:"-"`
		Name    string `json:"name"`
		Times   int    `json:"times"`
	}
	r := job.NewRegistry()
	r.Register("team/greet", func() job.Job { return &greet{} })
	specs := newSpecs(seq("main", jobNode("g", "team/greet", given("name", "times=n"))))
	specs.registry = r
	jc := mustBuild(t, specs, proto.Values{"name": "you", "n": int64(2)})
	got, err := r.Load("team/greet", jc.Jobs["g-1"].Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if g := got.(*greet); g.Name != "you" || g.Times != 2 {
		t.Errorf("the job is made anew as %+v, want name you, times 2", g)
	}
}

func TestCreateKnowsItsJob(t *testing.T) {
	t.Parallel()
	var got []job.Info
	specs := newSpecs(seq("main", jobNode("a", "look"), jobNode("b", "look", after("a"))))
	specs.registry = buildRegistry(map[string]createFunc{
		"look": func(ctx context.Context, _ job.Values) error {
			got = append(got, job.InfoOf(ctx))
			return nil
		},
	})
	mustBuild(t, specs, nil)
	want := []job.Info{
		{RequestID: "req", JobID: "a-1", Name: "a", Type: "look"},
		{RequestID: "req", JobID: "b-2", Name: "b", Type: "look"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("InfoOf in Create differs (-want +got):\n%s", diff)
	}
}

func TestSecretsGoToTheChain(t *testing.T) {
	t.Parallel()
	inner := seq("inner", jobNode("a", "noop", given("token", "key")))
	inner.Args = spec.SequenceArgs{
		Required: []*spec.Arg{{Name: "token", Secret: true}},
		Static:   []*spec.Arg{{Name: "key", Default: "k3y", Secret: true}, {Name: "none", Default: "", Secret: true}},
	}
	specs := newSpecs(seq("main", seqNode("s", "inner", given("token"))), inner)
	jc, err := specs.Build(t.Context(), "req", "main", proto.Values{"token": "hush"}, []string{"hush"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"hush", "k3y"}, jc.Secrets); diff != "" {
		t.Errorf("secrets differ (-want +got):\n%s", diff)
	}
}
