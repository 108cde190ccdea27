package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/internal/spectest"
)

const (
	usesY = "  use: {category: job, type: noop, args: [{expected: y}], deps: [a]}"
)

// callee is a sequence with a static arg.
const callee = "  callee: {args: {required: [{name: need}], static: [{name: fixed, default: 1}]}, " + spectest.OneNode + "}\n"

const typedSequence = "  typed: {args: {required: [{name: n, type: int, enum: [1, 2]}]}, " + spectest.OneNode + "}\n"

var badFlows = []badSpec{
	{check: "missing-arg", where: "s/a", message: "sequence `callee` requires arg `need`, and the node does not give it", spec: spectest.Node("category: sequence, type: callee")},
	{check: "missing-arg", where: "s/a", message: "sequence `callee` requires arg `need`, and the node does not give it", spec: spectest.Node("category: sequence, type: callee, args: [{expected: may, given: x}]")},
	{check: "missing-arg", where: "s/a", message: "sequence `callee` requires arg `need`, and the node does not give it", spec: spectest.Node("category: conditional, if: x, eq: {v: callee, w: callee, default: noop}")},

	{check: "missing-set", where: "s/a", message: "sequence `callee`, which the node may call, does not set arg `ot`, did you mean `out`?",
		spec: spectest.Node("category: sequence, type: callee, args: [{expected: need, given: x}], sets: [{arg: ot}]")},
	{check: "missing-set", where: "s/a", message: "sequence `noop`, which the node may call, does not set arg `out`",
		spec: spectest.Node("category: conditional, if: x, eq: {v: callee, default: noop}, args: [{expected: need, given: x}], sets: [{arg: out}]")},

	{check: "bad-value", where: "s/a", message: "arg `n` of sequence `typed` must be a whole number (int), not the string `many`",
		spec: spectest.Node("category: sequence, type: typed, args: [{expected: n, value: many}]") + typedSequence},
	{check: "bad-value", where: "s/a", message: "arg `n` of sequence `typed` must be one of `1`, `2`, not 3",
		spec: spectest.Node("category: conditional, if: x, eq: {default: noop, v: typed}, args: [{expected: n, value: 3}]") + typedSequence},

	// no node sets it
	{check: "arg-not-set", where: "s/a", message: "arg `zz` is not set: it is not an arg of the sequence, and no earlier node sets it", spec: spectest.Node("category: job, type: noop, args: [{expected: zz}]")},
	{check: "arg-not-set", where: "s/a", message: "arg `hostnam` is not set: it is not an arg of the sequence, and no earlier node sets it, did you mean `hostname`?",
		spec: spectest.Sequence("args: {optional: [{name: hostname, default: h}]}", "nodes:", "  a:", "    category: job", "    type: noop", "    args:", "      - expected: host", "        given: hostnam #!")},
	{check: "arg-not-set", where: "s/a", message: "arg `zz` is not set: it is not an arg of the sequence, and no earlier node sets it", spec: spectest.Node("category: job, type: noop, each: [zz:e]")},
	{check: "arg-not-set", where: "s/a", message: "arg `zz` is not set: it is not an arg of the sequence, and no earlier node sets it", spec: spectest.Node("category: conditional, if: zz, eq: {default: noop}")},
	// what a node is given is not there for the nodes after it
	{check: "arg-not-set", where: "s/use", message: "arg `y` is not set: it is not an arg of the sequence, and no earlier node sets it",
		spec: spectest.Nodes("  a: {category: job, type: noop, args: [{expected: y, given: x}]}", usesY+" #!")},
	// a <- use, y aside
	{check: "arg-not-set", where: "s/use", message: "arg `y` is set by node `y`, which may run after this one: add `y` to `deps`",
		spec: spectest.Nodes("  a: {category: job, type: noop}", spectest.SetsY, usesY+" #!")},
	// use <- y
	{check: "arg-not-set", where: "s/use", message: "arg `y` is set by node `y`, which may run after this one: add `y` to `deps`",
		spec: spectest.Nodes("  use: {category: job, type: noop, args: [{expected: y}]} #!", "  y: {category: job, type: noop, sets: [{arg: y}], deps: [use]}")},
	{check: "arg-not-set", where: "s/a", message: "arg `y` is used by the node that sets it, and no earlier node sets it",
		spec: spectest.Node("category: job, type: noop, args: [{expected: y}], sets: [{arg: y}]")},
	// the sequence sets it, but the node does not take it over
	{check: "arg-not-set", where: "s/use", message: "arg `y` is not set: it is not an arg of the sequence, and no earlier node sets it",
		spec: spectest.Nodes("  a: {category: sequence, type: callee, args: [{expected: need, given: x}]}", usesY+" #!")},

	// a   y   both set y
	{check: "parallel-sets", where: "s/y", message: "node `a` sets arg `y` too, and the two may run in parallel: make one depend on the other, or set another name with `as`",
		spec: spectest.Nodes("  a: {category: job, type: noop, sets: [{arg: z, as: y}]}", spectest.SetsY+" #!", "  use: {category: job, type: noop, args: [{expected: y}], deps: [a, y]}")},
	// top <- left, top <- right: left and right set y
	{check: "parallel-sets", where: "s/right", message: "node `left` sets arg `y` too, and the two may run in parallel: make one depend on the other, or set another name with `as`",
		spec: spectest.Nodes(
			"  top: {category: job, type: noop, sets: [{arg: y}]}",
			"  left: {category: sequence, type: callee, args: [{expected: need, given: y}], sets: [{arg: out, as: y}], deps: [top]}",
			"  right: {category: conditional, if: x, eq: {default: callee}, args: [{expected: need, given: y}], sets: [{arg: out, as: y}], deps: [top]} #!")},

	{check: "renamed-twice", where: "s/a", message: "arg `x` is given as `f` here and as `e` on line 10",
		spec: spectest.Nodes("  a:", "    category: job", "    type: noop", "    args:", "      - {expected: e, given: x}", "      - {expected: f, given: x} #!")},
	{check: "each-and-given", where: "s/a", message: "list `xs` is expanded by `each` and given as a whole too", spec: spectest.Node("category: job, type: noop, each: [xs:e], args: [{expected: all, given: xs}]")},
	{check: "extra-arg", where: "s/a", message: "sequence `callee` does not take arg `ned`, did you mean `need`?", spec: spectest.Node("category: sequence, type: callee, args: [{expected: need, given: x}, {expected: ned, given: xs}]")},
	{check: "extra-arg", where: "s/a", message: "sequence `callee` does not take arg `element`", spec: spectest.Node("category: sequence, type: callee, args: [{expected: need, given: x}], each: [xs:element]")},
	{check: "static-given", where: "s/a", message: "the node gives arg `fixed` of sequence `callee`, which is static there: the value that is given wins; make the arg optional, or do not give it", spec: spectest.Node("category: sequence, type: callee, args: [{expected: need, given: x}, {expected: fixed, value: 1}]")},
	{check: "static-given", where: "s/a", message: "the node gives arg `fixed` of sequence `callee`, which is static there: the value that is given wins; make the arg optional, or do not give it", spec: spectest.Node("category: sequence, type: callee, args: [{expected: need, given: x}], each: [xs:fixed]")},
	{check: "static-given", where: "s/a", message: "the node gives arg `fixed` of sequence `callee`, which is static there: the value that is given wins; make the arg optional, or do not give it", spec: spectest.Sequence("args: {required: [{name: x}, {name: fixed}]}", "nodes:", "  a: {category: conditional, if: fixed, eq: {default: callee}, args: [{expected: need, given: x}]} #!") + callee},
	{check: "bad-value", where: "s/a", message: "arg `fixed` of sequence `typed` must be a whole number (int), not the string `x`", spec: spectest.Node("category: sequence, type: typed, args: [{expected: fixed, value: x}]") + "  typed: {args: {static: [{name: fixed, type: int, default: 1}]}, " + spectest.OneNode + "}\n"},
	{check: "if-given", where: "s/a", message: "`if` takes arg `x` from the sequence, and it replaces the one that the node gives: use another name", spec: spectest.Node("category: conditional, if: x, eq: {default: noop}, args: [{expected: x, value: 1}]")},
	{check: "if-given", where: "s/a", message: "`if` takes arg `x` from the sequence, and it replaces the one that the node gives: use another name", spec: spectest.Node("category: conditional, if: x, eq: {default: noop}, each: [xs:x]")},
	{check: "each-sets", where: "s/a", message: "all expansions of `each` set arg `y`: creating a request fails if they set different values, and `collect: true` makes a list of them",
		spec: spectest.Nodes("  a: {category: job, type: noop, each: [xs:e], sets: [{arg: y}]} #!", "  use: {category: job, type: noop, args: [{expected: y}], deps: [a]}")},
	{check: "unused-set", where: "s/y", message: "arg `y` is set and never used", spec: spectest.Nodes(spectest.SetsY + " #!")},
	{check: "unused-set", where: "s/a", message: "arg `z` is set and never used", spec: spectest.Nodes("  a:", "    category: job", "    type: noop", "    sets:", "      - arg: y", "        as: z #!")},
	{check: "unused-sequence", where: "other", message: "no node calls the sequence, and users cannot ask for it without `request: true`", spec: spectest.Nodes("  a: {category: job, type: noop}") + "  other: {" + spectest.OneNode + "} #!\n"},
	// a <- b <- c <- d, and d on a
	{check: "redundant-dep", where: "s/d", message: "dep `a` is implied by dep `c`: leave it out",
		spec: spectest.Nodes("  a: {category: job, type: noop}", "  b: {category: job, type: noop, deps: [a]}", "  c: {category: job, type: noop, deps: [b]}", "  d: {category: job, type: noop, deps: [a, c]} #!")},
	{check: "redundant-dep", where: "s/b", message: "dep `a` is listed twice", spec: spectest.Nodes("  a: {category: job, type: noop}", "  b: {category: job, type: noop, deps: [a, a]} #!")},
}

// Deps in a cycle leave no order; an arg that no node sets is found all the same.
func TestArgsThatNothingSetsAreFoundWithoutOrder(t *testing.T) {
	t.Parallel()
	for _, deps := range []string{"b", "gone"} {
		_, problems := grapher.Parse(map[string][]byte{"a.yaml": []byte(spectest.Nodes(
			"  a: {category: job, type: noop, args: [{expected: zz}, {expected: y}, {expected: x}], deps: ["+deps+"]}",
			"  b: {category: job, type: noop, sets: [{arg: y}], deps: [a]}"))}, grapher.Options{})
		var got []string
		for _, p := range problems {
			got = append(got, p.Check+" "+p.Message)
		}
		if want := "arg-not-set arg `zz` is not set: it is not an arg of the sequence, and no earlier node sets it"; len(got) != 2 || !slices.Contains(got, want) {
			t.Errorf("deps on %s: got %q", deps, got)
		}
	}
}

// More nodes than fit in one chunk of the search: n0 <- n1 <- ... <- n199, each
// with the first as a dep too; all set x but the last, which uses it.
func TestFlowOverManyNodes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("sequences:\n  s:\n    request: true\n    nodes:\n")
	for i := range 200 {
		fmt.Fprintf(&b, "      n%03d: {category: job, type: noop, args: [{expected: first}], ", i)
		switch i {
		case 0:
			b.Reset()
			b.WriteString("sequences:\n  s:\n    request: true\n    nodes:\n      n000: {category: job, type: noop, sets: [{arg: first}, {arg: x}]}\n")
		case 199:
			fmt.Fprintf(&b, "deps: [n198, n000]}\n")
		default:
			fmt.Fprintf(&b, "sets: [{arg: x}], deps: [n%03d]}\n", i-1)
		}
	}
	_, problems := grapher.Parse(map[string][]byte{"a.yaml": []byte(b.String())}, grapher.Options{})
	var got []string
	for _, p := range problems {
		if p.Check != "unused-set" {
			got = append(got, p.Node+" "+p.Check+": "+p.Message)
		}
	}
	want := "n199 redundant-dep: dep `n000` is implied by dep `n198`: leave it out"
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
