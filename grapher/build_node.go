package grapher

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// expansion is one of the jobs or sequences that a node stands for.
type expansion struct {
	*planNode
	args  proto.Values // what it sees, and what it sets
	in    []int32      // what it comes after
	group string
}

// node builds a node behind the vertices in, with all its expansions, and takes
// over what it sets. It returns what dependents must come after, nil if the node
// has no jobs.
func (b *builder) node(ctx context.Context, s *visit, n *planNode, in []int32) ([]int32, error) {
	lists, count, err := b.lists(s, n.Node)
	if err != nil {
		return nil, err
	}
	if n.Category == spec.CategoryJob && b.jobs+count > b.specs.limits.Jobs {
		return nil, b.tooManyJobs(s, n.Node)
	}
	undo := b.checkpoint()
	group := ""
	if n.Parallel > 0 && uint(count) > n.Parallel {
		group = b.newID(n.slug)
	}
	if count > 1 {
		in = b.graph.gather(in, n.Name, s.index)
	}
	sets := newTakeover(n.Node, count)
	var out []int32
	for i := range count {
		e := &expansion{planNode: n, in: in, group: group}
		if e.args, err = b.nodeArgs(s, n.Node, lists, i); err != nil {
			return nil, err
		}
		ids, err := b.expand(ctx, s, e)
		if err != nil {
			return nil, err
		}
		if err := b.countEmpty(s, n.Node, ids, count); err != nil {
			return nil, err
		}
		if count == 1 {
			out = ids
		} else {
			out = append(out, ids...)
		}
		if err := sets.take(b, s, e.args); err != nil {
			return nil, err
		}
	}
	sets.give(s.args)
	if out == nil {
		undo.restore(b)
	} else if group != "" {
		b.parallel[group] = n.Parallel
	}
	return out, nil
}

// checkpoint is a moment of a Build.
type checkpoint struct{ vertices, joints, sequences int }

func (b *builder) checkpoint() checkpoint {
	return checkpoint{len(b.graph.vertices), len(b.graph.joints), len(b.sequences)}
}

// restore forgets joints and sequences since m. It is for nodes that made no
// jobs, so that nothing depends on these.
func (m checkpoint) restore(b *builder) {
	b.graph.vertices = b.graph.vertices[:m.vertices]
	b.graph.joints = b.graph.joints[:m.joints]
	b.sequences = b.sequences[:m.sequences]
}

// countEmpty counts expansions that made nothing, so that they have an end.
func (b *builder) countEmpty(s *visit, n *spec.Node, ids []int32, count int) error {
	if ids != nil || count == 1 {
		return nil
	}
	if b.empties++; b.empties > emptyPerJob*b.specs.limits.Jobs {
		return b.fail(s, n, nil, "the request has more than %d expansions without any job, %d times the limit of jobs (limits.jobs)",
			emptyPerJob*b.specs.limits.Jobs, emptyPerJob)
	}
	return nil
}

// expand builds one expansion. After it, e.args has what the expansion set.
func (b *builder) expand(ctx context.Context, s *visit, e *expansion) ([]int32, error) {
	if ctx.Err() != nil {
		return nil, cutShort(ctx)
	}
	switch e.Category {
	case spec.CategoryJob:
		return b.job(ctx, s, e)
	case spec.CategoryConditional:
		name, err := b.choose(s, e)
		if err != nil {
			return nil, err
		}
		return b.call(ctx, s, e, name)
	case spec.CategorySequence:
	}
	return b.call(ctx, s, e, e.Type)
}

// job makes one job.
func (b *builder) job(ctx context.Context, s *visit, e *expansion) ([]int32, error) {
	n := e.Node
	j := &proto.Job{
		ID:            b.newID(e.slug),
		Name:          n.Name,
		Type:          n.Type,
		State:         proto.StatePending,
		Args:          e.args.Clone(), // Create may change the others
		Retry:         n.Retry,
		RetryWait:     n.RetryWait,
		RetryBackoff:  n.RetryBackoff,
		RetryWaitMax:  n.RetryWaitMax,
		Timeout:       n.Timeout,
		NotIdempotent: !n.Idempotent,
		Group:         e.group,
	}
	info := &job.Info{RequestID: b.requestID, JobID: j.ID, Name: j.Name, Type: j.Type}
	var err error
	if j.Bytes, err = b.specs.registry.Create(ctx, info, e.args); err != nil {
		return nil, b.createError(ctx, s, e, err)
	}
	if err := e.args.Normalize(); err != nil {
		return nil, b.fail(s, n, e.args, "job type %s set an arg that JSON cannot carry: %v", n.Type, err)
	}
	j.Sets = changed(j.Args, e.args)
	b.jobs++
	v := b.graph.add(j, s.index, e.in)
	if seq := &b.sequences[s.index]; seq.first < 0 {
		seq.first = v
	}
	return []int32{v}, nil
}

// changed returns the values of after that before has not, or has other ones of.
func changed(before, after proto.Values) proto.Values {
	var sets proto.Values
	for name, value := range after {
		if old, ok := before[name]; ok && reflect.DeepEqual(old, value) {
			continue
		}
		if sets == nil {
			sets = proto.Values{}
		}
		sets[name] = value
	}
	return sets
}

// createError says what the failed Create of a job type means for the user.
func (b *builder) createError(ctx context.Context, s *visit, e *expansion, err error) error {
	if ctx.Err() != nil {
		return cutShort(ctx)
	}
	if p, ok := errors.AsType[*job.PanicError](err); ok {
		failed := b.fail(s, e.Node, e.args, "job type %s panicked when its job was created", e.Type)
		failed.Err = b.maskPanic(p)
		return failed
	}
	if a, ok := errors.AsType[*job.ArgError](err); ok {
		return b.fail(s, e.Node, e.args, "job type %s: arg %s: %s", e.Type, a.Arg, a.Message)
	}
	if !b.specs.registry.Has(e.Type) {
		return b.fail(s, e.Node, e.args, "%v", err)
	}
	return b.fail(s, e.Node, e.args, "job type %s: %v", e.Type, err)
}

// choose returns the name of the sequence that a conditional stands for. What `if` names
// is an arg of the sequence that the node stands in, which is added to those that the
// node gives; one that the node gives by `args` or `each` counts where the sequence has
// no arg of that name.
func (b *builder) choose(s *visit, e *expansion) (string, error) {
	value, ok := s.args[e.If]
	if !ok {
		value, ok = e.args[e.If]
	}
	if !ok {
		return "", b.fail(s, e.Node, e.args, "if: arg %s is not set", e.If)
	}
	e.args[e.If] = value
	choice := proto.Text(value)
	if value == nil {
		choice = spec.NullChoice
	}
	if name, ok := e.Eq[choice]; ok {
		return name, nil
	}
	if name, ok := e.Eq["default"]; ok {
		return name, nil
	}
	return "", b.fail(s, e.Node, e.args, "if: arg %s is %s, and there is no default; the choices are %s",
		e.If, b.show(value), quoted(choices(e.Eq)))
}

// choices returns the values in `eq`, sorted.
func choices(eq map[string]string) []string {
	all := slices.Sorted(maps.Keys(eq))
	for i, choice := range all {
		if choice == spec.NullChoice {
			all[i] = "null"
		}
	}
	return all
}

// call builds a sequence that a node stands for.
func (b *builder) call(ctx context.Context, s *visit, e *expansion, name string) ([]int32, error) {
	n := e.Node
	p := b.plan(name)
	switch {
	case p != nil: // one in the specs wins over the built-in one
	case name == spec.NoopSequence:
		return nil, nil
	default:
		return nil, b.fail(s, n, e.args, "sequence %s does not exist", name)
	}
	inner := &visit{plan: p, args: e.args, index: int32(len(b.sequences)), depth: s.depth + 1, caller: n, outer: s}
	if inner.depth > b.specs.limits.Depth {
		return nil, b.fail(s, n, e.args, "sequence %s would be nested deeper than the limit of %d sequences (limits.depth)", name, b.specs.limits.Depth)
	}
	if err := b.complete(s, n, inner); err != nil {
		return nil, err
	}
	b.noteSecrets(inner)
	b.sequences = append(b.sequences, builtSequence{
		Sequence: proto.Sequence{
			Name:         name,
			Retry:        n.Retry,
			RetryWait:    n.RetryWait,
			RetryBackoff: n.RetryBackoff,
			RetryWaitMax: n.RetryWaitMax,
			Timeout:      n.Timeout,
			Group:        e.group,
		},
		parent: s.index, first: -1,
	})
	in := e.in
	if p.sources > 1 {
		in = b.graph.gather(in, n.Name, s.index)
	}
	f, err := b.walk(ctx, inner, in)
	if err != nil {
		return nil, err
	}
	if f.through {
		b.sequences = b.sequences[:inner.index]
		return nil, nil
	}
	return f.ids, nil
}
