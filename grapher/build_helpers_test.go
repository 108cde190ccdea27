package grapher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// createFunc is the Create of a job type that does nothing when it runs.
type createFunc func(ctx context.Context, args job.Values) error

type createdJob struct{ create createFunc }

func (j *createdJob) Create(ctx context.Context, args job.Values) error { return j.create(ctx, args) }

func (j *createdJob) Run(context.Context, job.Values) (job.Result, error) { return job.Result{}, nil }

// buildRegistry has the job types of the Build tests.
func buildRegistry(extra map[string]createFunc) *job.Registry {
	r := job.NewRegistry()
	types := map[string]createFunc{
		"noop": func(context.Context, job.Values) error { return nil },
		// split sets list to the parts of string.
		"split": func(_ context.Context, args job.Values) error {
			args["list"] = strings.Split(args["string"].(string), ",")
			return nil
		},
		// upper sets upper to text in upper case.
		"upper": func(_ context.Context, args job.Values) error {
			text, ok := args["text"].(string)
			if !ok {
				return job.ArgErrorf("text", "expected a string, got %v", args["text"])
			}
			args["upper"] = strings.ToUpper(text)
			return nil
		},
		"broken": func(context.Context, job.Values) error { return errors.New("the disk is full") },
		"panics": func(_ context.Context, args job.Values) error { panic(fmt.Sprint("boom ", args["text"])) },
	}
	maps.Copy(types, extra)
	for name, create := range types {
		r.Register(name, func() job.Job { return &createdJob{create: create} })
	}
	return r
}

// seq returns a sequence with its nodes in topological order, ties by name. It is
// a request if it is named "main".
func seq(name string, nodes ...*spec.Node) *spec.Sequence {
	s := &spec.Sequence{Name: name, Request: name == "main", Nodes: map[string]*spec.Node{}}
	for _, n := range nodes {
		n.Pos = spec.Pos{File: name + ".yaml", Line: 10 + len(s.Nodes)}
		s.Nodes[n.Name] = n
	}
	done := map[string]bool{}
	for len(s.Order) < len(s.Nodes) {
		for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
			n := s.Nodes[name]
			if !done[name] && !slices.ContainsFunc(n.Deps, func(d string) bool { return !done[d] }) {
				s.Order = append(s.Order, n)
				done[name] = true
				break
			}
		}
	}
	return s
}

// jobNode returns a node with one job of the type.
func jobNode(name, jobType string, options ...func(*spec.Node)) *spec.Node {
	return newNode(&spec.Node{Name: name, Category: spec.CategoryJob, Type: jobType}, options)
}

// seqNode returns a node that calls the sequence.
func seqNode(name, sequence string, options ...func(*spec.Node)) *spec.Node {
	return newNode(&spec.Node{Name: name, Category: spec.CategorySequence, Type: sequence}, options)
}

// ifNode returns a node that chooses a sequence by the arg.
func ifNode(name, arg string, eq map[string]string, options ...func(*spec.Node)) *spec.Node {
	return newNode(&spec.Node{Name: name, Category: spec.CategoryConditional, If: arg, Eq: eq}, options)
}

func newNode(n *spec.Node, options []func(*spec.Node)) *spec.Node {
	n.Idempotent = true
	for _, o := range options {
		o(n)
	}
	return n
}

func after(names ...string) func(*spec.Node) { return func(n *spec.Node) { n.Deps = names } }

// given lists args: "name", or "expected=given".
func given(args ...string) func(*spec.Node) {
	return func(n *spec.Node) {
		for _, a := range args {
			expected, from, ok := strings.Cut(a, "=")
			if !ok {
				from = expected
			}
			n.Args = append(n.Args, &spec.NodeArg{Expected: expected, Given: from})
		}
	}
}

func literal(name string, value any) func(*spec.Node) {
	return func(n *spec.Node) {
		n.Args = append(n.Args, &spec.NodeArg{Expected: name, HasValue: true, Value: value})
	}
}

// each expands the node over "list:element".
func each(lists ...string) func(*spec.Node) {
	return func(n *spec.Node) {
		for _, l := range lists {
			list, element, _ := strings.Cut(l, ":")
			n.Each = append(n.Each, &spec.Each{List: list, Element: element})
		}
	}
}

// sets takes over "arg", or "arg>as".
func sets(entries ...string) func(*spec.Node) { return setting(false, entries) }

// collects is sets with `collect: true`.
func collects(entries ...string) func(*spec.Node) { return setting(true, entries) }

func setting(collect bool, entries []string) func(*spec.Node) {
	return func(n *spec.Node) {
		for _, e := range entries {
			arg, as, ok := strings.Cut(e, ">")
			if !ok {
				as = arg
			}
			n.Sets = append(n.Sets, &spec.NodeSet{Arg: arg, As: as, Collect: collect})
		}
	}
}

func parallel(most uint) func(*spec.Node) { return func(n *spec.Node) { n.Parallel = most } }

// newSpecs returns specs of the sequences, with the job types of buildRegistry.
func newSpecs(sequences ...*spec.Sequence) *Specs {
	s := &Specs{Sequences: map[string]*spec.Sequence{}, registry: buildRegistry(nil), limits: DefaultLimits}
	for _, q := range sequences {
		s.Sequences[q.Name] = q
	}
	return s
}

// mustBuild builds the request "main".
func mustBuild(t testing.TB, s *Specs, args proto.Values) *proto.JobChain {
	t.Helper()
	jc, err := s.Build(t.Context(), "req", "main", args, nil)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return jc
}

// draw returns the edges of a chain, a line for each job: "a-1 -> b-2 c-3".
func draw(jc *proto.JobChain) string {
	var lines []string
	for id := range jc.Jobs {
		lines = append(lines, strings.TrimSuffix(id+" -> "+strings.Join(jc.AdjacencyList[id], " "), " -> "))
	}
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(counterOf(a), counterOf(b))
	})
	return strings.Join(lines, "\n")
}

// counterOf returns the counter of the job id that a line begins with, so that
// lines sort by it.
func counterOf(line string) string {
	id, _, _ := strings.Cut(line, " ")
	return fmt.Sprintf("%13s", id[strings.LastIndexByte(id, '-')+1:])
}

// lines joins lines of a picture.
func lines(l ...string) string { return strings.Join(l, "\n") }

// jobsNamed returns the jobs of a node, in the order they were made.
func jobsNamed(jc *proto.JobChain, name string) []*proto.Job {
	var jobs []*proto.Job
	for _, j := range jc.Jobs {
		if j.Name == name && !j.Structural {
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b *proto.Job) int { return strings.Compare(counterOf(a.ID), counterOf(b.ID)) })
	return jobs
}

// list returns numbered texts: prefix0, prefix1, ...
func list(prefix string, n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return out
}

func toJSON(t testing.TB, x any) string {
	t.Helper()
	b, err := json.MarshalIndent(x, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
