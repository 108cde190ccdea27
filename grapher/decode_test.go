package grapher

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/treadle-run/treadle/proto"
)

// ignore leaves out where things stand, and what only this package sees.
var ignore = cmp.Options{
	cmpopts.IgnoreTypes(Pos{}),
	cmpopts.IgnoreUnexported(Sequence{}, Arg{}, ACL{}, Node{}, NodeArg{}, NodeSet{}),
	cmpopts.EquateEmpty(),
}

func TestDecodeEveryField(t *testing.T) {
	t.Parallel()
	specs := mustParse(t, `
sequences:
  main:
    request: true
    timeout: 2h
    args:
      required: [{name: host, desc: Where, pattern: "^[a-z]+$"}]
      optional: [{name: n, type: int, enum: [1, 2], default: 2}]
      static: [{name: token, secret: true, default: s3cret}]
    acl:
      - {role: eng, admin: true}
      - {role: support, ops: [start, stop]}
    nodes:
      find:
        category: job
        type: team/find
        args:
          - {expected: h, given: host}
          - {expected: n}
          - {expected: opts, value: {deep: [1, 2.5, true, null, x]}}
        sets: [{arg: found}, {arg: more, as: rest}]
        retry: 3
        retryWait: 5s
        retryBackoff: 1.5
        retryWaitMax: 1m
        timeout: 90s
        idempotent: false
      each:
        category: sequence
        type: one
        each: [found:f, rest:r]
        parallel: 5
        sets: [{arg: out, as: outs, collect: true}]
        deps: [find]
      maybe:
        category: conditional
        if: n
        eq: {1: one, default: noop}
        args: [{expected: f, given: outs}, {expected: r, given: host}]
        deps: [each]
  one:
    args:
      required: [{name: f}, {name: r}]
    nodes:
      n: {category: job, type: noop, args: [{expected: f}, {expected: r}], sets: [{arg: out}]}
`)
	want := &Sequence{
		Name: "main", Request: true, Timeout: proto.Duration(2 * time.Hour),
		Args: SequenceArgs{
			Required: []*Arg{{Name: "host", Desc: "Where", Pattern: "^[a-z]+$"}},
			Optional: []*Arg{{Name: "n", Type: "int", Enum: []any{int64(1), int64(2)}, Default: int64(2)}},
			Static:   []*Arg{{Name: "token", Secret: true, Default: "s3cret"}},
		},
		ACL: []ACL{{Role: "eng", Admin: true}, {Role: "support", Ops: []string{"start", "stop"}}},
		Nodes: map[string]*Node{
			"find": {
				Name: "find", Category: CategoryJob, Type: "team/find",
				Args: []*NodeArg{
					{Expected: "h", Given: "host"},
					{Expected: "n", Given: "n"},
					{Expected: "opts", HasValue: true, Value: map[string]any{"deep": []any{int64(1), 2.5, true, nil, "x"}}},
				},
				Sets:  []*NodeSet{{Arg: "found", As: "found"}, {Arg: "more", As: "rest"}},
				Retry: 3, RetryWait: proto.Duration(5 * time.Second), RetryBackoff: 1.5, RetryWaitMax: proto.Duration(time.Minute),
				Timeout: proto.Duration(90 * time.Second),
			},
			"each": {
				Name: "each", Category: CategorySequence, Type: "one", Each: []*Each{{List: "found", Element: "f"}, {List: "rest", Element: "r"}},
				Parallel: 5, Sets: []*NodeSet{{Arg: "out", As: "outs", Collect: true}}, Deps: []string{"find"}, Idempotent: true,
			},
			"maybe": {
				Name: "maybe", Category: CategoryConditional, If: "n", Eq: map[string]string{"1": "one", "default": "noop"},
				Args: []*NodeArg{{Expected: "f", Given: "outs"}, {Expected: "r", Given: "host"}}, Deps: []string{"each"}, Idempotent: true,
			},
		},
	}
	if diff := cmp.Diff(want, specs.Sequences["main"], ignore); diff != "" {
		t.Error(diff)
	}
	if got := specs.Sequences["main"].Nodes["each"].Pos; got != (Pos{"a.yaml", 28}) {
		t.Errorf("node each is at %v", got)
	}
}

// Defaults are the text that is written, unless a type is asked for.
func TestDefaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		arg  string // fields of the arg
		want any
	}{
		{`default: 5`, "5"},
		{`default: 1.50`, "1.50"},
		{`default: true`, "true"},
		{`default: yes`, "yes"},
		{`default: 2024-01-02`, "2024-01-02"},
		{`default: 0x1F`, "0x1F"},
		{`default: ""`, ""},
		{`default: "null"`, "null"},
		{`default: []`, []any{}},
		{`default: [a, 1]`, []any{"a", int64(1)}},
		{`default: {}`, map[string]any{}},
		{`default: {a: {b: 1.0}}`, map[string]any{"a": map[string]any{"b": 1.0}}},
		{`type: string, default: 5`, "5"},
		{`type: int, default: 5`, int64(5)},
		{`type: int, default: 0x1F`, int64(31)},
		{`type: int, default: 18446744073709551615`, uint64(math.MaxUint64)},
		{`type: float, default: 5`, 5.0},
		{`type: float, default: 1e3`, 1000.0},
		{`type: bool, default: true`, true},
		{`type: list, default: [1]`, []any{int64(1)}},
		{`type: object, default: {a: b}`, map[string]any{"a": "b"}},
		{`default: 5, type: int`, int64(5)}, // in any order
	}
	for _, test := range tests {
		specs := mustParse(t, sequence("args: {optional: [{name: x, "+test.arg+"}]}", oneNode))
		if diff := cmp.Diff(test.want, specs.Sequences["s"].Args.Optional[0].Default); diff != "" {
			t.Errorf("%s: %s", test.arg, diff)
		}
	}
}

// Specs that other readers of YAML take are taken here too.
func TestGoodSpecs(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"fields without a value":        sequence("args:", "acl:", "nodes:", "  a:", "    category: job", "    type: noop", "    args:", "    sets:", "    deps:", "    each:", "    retry:", "    retryWait:"),
		"lists of args without a value": sequence("args:", "  required:", "  optional:", "  static:", oneNode),
		"yes and on":                    "sequences: {s: {request: yes, nodes: {a: {category: job, type: noop, idempotent: Off}}}}",
		"anchors and merges": `sequences:
  s:
    request: true
    nodes:
      a: &base
        category: job
        type: noop
        retry: 2
      b:
        <<: *base
        retry: 5
        deps: [a]
      c:
        <<: [{deps: [b]}, *base]
`,
		"numbers as names":         sequence("nodes: {1: {category: job, type: 2}, 3: {category: job, type: 2, deps: [1]}}"),
		"spaces in names":          sequence(`nodes: {"a b": {category: job, type: "do it"}}`),
		"windows lines":            "sequences:\r\n  s:\r\n    request: true\r\n    " + oneNode + "\r\n",
		"byte order mark":          "\ufeff" + sequence(oneNode),
		"retry wait empty":         node(`category: job, type: noop, retryWait: ""`),
		"backoff of one":           node("category: job, type: noop, retry: 1, retryWait: 1s, retryBackoff: 1"),
		"sequence may be noop":     node("category: sequence, type: noop"),
		"timeout of a conditional": node("category: conditional, if: x, eq: {default: noop}, timeout: 1m"),
		"null as a literal":        node("category: job, type: noop, args: [{expected: e, value: null}]"),
		// what `if` compares may be an element, or given by the node
		"if an element":    node("category: conditional, each: [xs:e], if: e, eq: {default: noop}"),
		"if an own arg":    node("category: conditional, args: [{expected: e, value: v}], if: e, eq: {default: noop}"),
		"if gives the arg": node("category: conditional, if: need, eq: {default: callee}, args: [{expected: need, given: x}]"),
		// y <- a <- b: set far before
		"set by an indirect dep": nodes(setsY, "  a: {category: job, type: noop, deps: [y]}", "  b: {category: job, type: noop, deps: [a], args: [{expected: y}]}"),
		// a <- b, both set y
		"set again later": nodes("  a: {category: job, type: noop, sets: [{arg: y}]}", "  b: {category: job, type: noop, sets: [{arg: y}], deps: [a], args: [{expected: y}]}"),
		// every sequence that a conditional may call sets it
		"set on every path": nodes(
			"  a: {category: conditional, if: x, eq: {v: callee, default: other}, args: [{expected: need, given: x}], sets: [{arg: out}]}",
			"  b: {category: job, type: noop, args: [{expected: out}], deps: [a]}") +
			"  other: {args: {optional: [{name: out, default: o}]}, " + oneNode + "}\n",
	}
	for name, text := range tests {
		specs, problems := Parse(map[string][]byte{"a.yaml": []byte(text)}, Options{})
		if specs == nil {
			t.Errorf("%s: %s", name, showProblems(problems))
			continue
		}
		for _, s := range specs.Sequences {
			if len(s.order) != len(s.Nodes) {
				t.Errorf("%s: sequence %s has %d nodes and %d in order", name, s.Name, len(s.Nodes), len(s.order))
			}
		}
	}
}

// Own fields win over merged ones, earlier merged ones over later ones.
func TestMerge(t *testing.T) {
	t.Parallel()
	specs := mustParse(t, `sequences:
  s:
    request: true
    nodes:
      a: &a {category: job, type: noop, retry: 2}
      b: {<<: *a, retry: 5}
      c: {<<: [{retry: 7}, *a]}
`)
	for name, want := range map[string]uint{"a": 2, "b": 5, "c": 7} {
		if n := specs.Sequences["s"].Nodes[name]; n.Retry != want || n.Type != "noop" {
			t.Errorf("node %s has retry %d and type %s", name, n.Retry, n.Type)
		}
	}
}
