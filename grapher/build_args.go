package grapher

import (
	"reflect"

	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/proto"
)

// lists returns the lists that a node is expanded over, in the order of its
// `each`, and how many expansions that makes: 1 without `each`.
func (b *builder) lists(s *visit, n *spec.Node) (lists [][]any, count int, err error) {
	if len(n.Each) == 0 {
		return nil, 1, nil
	}
	for i, e := range n.Each {
		value, ok := s.args[e.List]
		if !ok {
			return nil, 0, b.fail(s, n, nil, "each: arg %s is not set", e.List)
		}
		list, ok := value.([]any)
		if !ok {
			return nil, 0, b.fail(s, n, nil, "each: arg %s must be a list, not %s", e.List, b.describe(value))
		}
		if i > 0 && len(list) != len(lists[0]) {
			return nil, 0, b.fail(s, n, nil, "each: the lists must have equal lengths, but %s has %d and %s has %d",
				n.Each[0].List, len(lists[0]), e.List, len(list))
		}
		lists = append(lists, list)
	}
	return lists, len(lists[0]), nil
}

// nodeArgs returns the args that expansion i of a node sees. A job may change
// its args, so it gets copies; values of sequences are never changed and shared.
func (b *builder) nodeArgs(s *visit, n *spec.Node, lists [][]any, i int) (proto.Values, error) {
	args := make(proto.Values, len(n.Args)+len(n.Each)+1)
	for _, a := range n.Args {
		value := a.Value
		if !a.HasValue {
			var ok bool
			if value, ok = s.args[a.Given]; !ok {
				return nil, b.fail(s, n, nil, "arg %s is not set", a.Given)
			}
		}
		args[a.Expected] = value
	}
	for k, e := range n.Each {
		args[e.Element] = lists[k][i]
	}
	if n.Category != spec.CategoryJob {
		return args, nil
	}
	for k, value := range args {
		args[k] = b.clone(value)
	}
	if b.copied += len(args); b.copied > b.maxCopied {
		return nil, b.fail(s, n, nil, "the args of all jobs together have more than %d values: give long lists to fewer jobs", b.maxCopied)
	}
	if b.text > b.maxText {
		return nil, b.fail(s, n, nil, "the args of all jobs together have more than %d bytes of text: give long texts to fewer jobs", b.maxText)
	}
	return args, nil
}

// clone returns a value, lists and objects as deep copies, and counts their
// values and the bytes of texts.
func (b *builder) clone(x any) any {
	switch x := x.(type) {
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = b.clone(x[i])
		}
		b.copied += len(x)
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, y := range x {
			out[k] = b.clone(y)
		}
		b.copied += len(x)
		return out
	case string:
		b.text += len(x)
	}
	return x
}

// complete adds defaults and statics to the args of a called sequence. What the node
// gives for a static arg wins over it: only users cannot give one.
func (b *builder) complete(s *visit, n *spec.Node, inner *visit) error {
	for _, a := range inner.plan.Args.Required {
		if _, ok := inner.args[a.Name]; !ok {
			return b.fail(s, n, inner.args, "sequence %s requires arg %s, which is not given", inner.plan.Name, a.Name)
		}
		if err := b.accept(s, n, inner, a); err != nil {
			return err
		}
	}
	for _, list := range [...][]*spec.Arg{inner.plan.Args.Optional, inner.plan.Args.Static} {
		for _, a := range list {
			if _, ok := inner.args[a.Name]; !ok {
				inner.args[a.Name] = a.Default
				continue
			}
			if err := b.accept(s, n, inner, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// accept holds an arg that the node gives to what the called sequence allows.
func (b *builder) accept(s *visit, n *spec.Node, inner *visit, a *spec.Arg) error {
	value, err := a.Accept(inner.args[a.Name])
	if err != nil {
		return b.fail(s, n, inner.args, "arg %s of sequence %s %s", a.Name, inner.plan.Name, err)
	}
	inner.args[a.Name] = value
	return nil
}

// takeover takes over what the expansions of a node set. The args of the sequence
// change only when all are done: an expansion must not see what another set.
type takeover struct {
	node   *spec.Node
	count  int     // of expansions
	taken  int     // expansions so far
	values []any   // by place in node.Sets
	lists  [][]any // the same for those that collect
}

func newTakeover(n *spec.Node, count int) *takeover {
	t := &takeover{node: n, count: count}
	if len(n.Sets) > 0 {
		t.values = make([]any, len(n.Sets))
		t.lists = make([][]any, len(n.Sets))
	}
	return t
}

// collects reports whether an entry of `sets` makes a list.
func (t *takeover) collects(set *spec.NodeSet) bool {
	return len(t.node.Each) > 0 && (set.Collect || t.count == 0)
}

// take takes over from the args of one expansion.
func (t *takeover) take(b *builder, s *visit, args proto.Values) error {
	t.taken++
	for i, set := range t.node.Sets {
		value, ok := args[set.Arg]
		if !ok {
			return b.fail(s, t.node, args, "sets: arg %s was not set", set.Arg)
		}
		switch {
		case t.collects(set):
			t.lists[i] = append(t.lists[i], value)
		case t.taken == 1:
			t.values[i] = value
		case !reflect.DeepEqual(t.values[i], value):
			return b.fail(s, t.node, nil,
				"sets: the expansions set arg %s to different values: the first %s, number %d %s; `collect: true` would make a list of them",
				set.Arg, b.show(t.values[i]), t.taken, b.show(value))
		}
	}
	return nil
}

// give puts what was taken into the args of the sequence.
func (t *takeover) give(args proto.Values) {
	for i, set := range t.node.Sets {
		if !t.collects(set) {
			args[set.As] = t.values[i]
			continue
		}
		list := t.lists[i]
		if list == nil {
			list = []any{}
		}
		args[set.As] = list
	}
}
