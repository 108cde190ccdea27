package spec_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/internal/spectest"
	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/proto"
)

// ignore leaves out where things stand, and what follows from the rest.
var ignore = cmp.Options{
	cmpopts.IgnoreTypes(spec.Pos{}),
	cmpopts.IgnoreFields(spec.Sequence{}, "Order"),
	cmpopts.IgnoreFields(spec.Arg{}, "HasDefault"),
	cmpopts.IgnoreUnexported(spec.Sequence{}, spec.Arg{}, spec.ACL{}, spec.Node{}, spec.NodeArg{}, spec.NodeSet{}),
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
	want := &spec.Sequence{
		Name: "main", Request: true, Timeout: proto.Duration(2 * time.Hour),
		Args: spec.SequenceArgs{
			Required: []*spec.Arg{{Name: "host", Desc: "Where", Pattern: "^[a-z]+$"}},
			Optional: []*spec.Arg{{Name: "n", Type: "int", Enum: []any{int64(1), int64(2)}, Default: int64(2)}},
			Static:   []*spec.Arg{{Name: "token", Secret: true, Default: "s3cret"}},
		},
		ACL: []spec.ACL{{Role: "eng", Admin: true}, {Role: "support", Ops: []string{"start", "stop"}}},
		Nodes: map[string]*spec.Node{
			"find": {
				Name: "find", Category: spec.CategoryJob, Type: "team/find",
				Args: []*spec.NodeArg{
					{Expected: "h", Given: "host"},
					{Expected: "n", Given: "n"},
					{Expected: "opts", HasValue: true, Value: map[string]any{"deep": []any{int64(1), 2.5, true, nil, "x"}}},
				},
				Sets:  []*spec.NodeSet{{Arg: "found", As: "found"}, {Arg: "more", As: "rest"}},
				Retry: 3, RetryWait: proto.Duration(5 * time.Second), RetryBackoff: 1.5, RetryWaitMax: proto.Duration(time.Minute),
				Timeout: proto.Duration(90 * time.Second),
			},
			"each": {
				Name: "each", Category: spec.CategorySequence, Type: "one", Each: []*spec.Each{{List: "found", Element: "f"}, {List: "rest", Element: "r"}},
				Parallel: 5, Sets: []*spec.NodeSet{{Arg: "out", As: "outs", Collect: true}}, Deps: []string{"find"}, Idempotent: true,
			},
			"maybe": {
				Name: "maybe", Category: spec.CategoryConditional, If: "n", Eq: map[string]string{"1": "one", "default": "noop"},
				Args: []*spec.NodeArg{{Expected: "f", Given: "outs"}, {Expected: "r", Given: "host"}}, Deps: []string{"each"}, Idempotent: true,
			},
		},
	}
	if diff := cmp.Diff(want, specs.Sequences["main"], ignore); diff != "" {
		t.Error(diff)
	}
	if got := specs.Sequences["main"].Nodes["each"].Pos; got != (spec.Pos{"a.yaml", 28}) {
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
		specs := mustParse(t, spectest.Sequence("args: {optional: [{name: x, "+test.arg+"}]}", spectest.OneNode))
		if diff := cmp.Diff(test.want, specs.Sequences["s"].Args.Optional[0].Default); diff != "" {
			t.Errorf("%s: %s", test.arg, diff)
		}
	}
}

// Specs that other readers of YAML take are taken here too.
func TestGoodSpecs(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"fields without a value":        spectest.Sequence("args:", "acl:", "nodes:", "  a:", "    category: job", "    type: noop", "    args:", "    sets:", "    deps:", "    each:", "    retry:", "    retryWait:"),
		"lists of args without a value": spectest.Sequence("args:", "  required:", "  optional:", "  static:", spectest.OneNode),
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
		"numbers as names":         spectest.Sequence("nodes: {1: {category: job, type: 2}, 3: {category: job, type: 2, deps: [1]}}"),
		"spaces in names":          spectest.Sequence(`nodes: {"a b": {category: job, type: "do it"}}`),
		"windows lines":            "sequences:\r\n  s:\r\n    request: true\r\n    " + spectest.OneNode + "\r\n",
		"byte order mark":          "\ufeff" + spectest.Sequence(spectest.OneNode),
		"retry wait empty":         spectest.Node(`category: job, type: noop, retryWait: ""`),
		"backoff of one":           spectest.Node("category: job, type: noop, retry: 1, retryWait: 1s, retryBackoff: 1"),
		"sequence may be noop":     spectest.Node("category: sequence, type: noop"),
		"timeout of a conditional": spectest.Node("category: conditional, if: x, eq: {default: noop}, timeout: 1m"),
		"null as a literal":        spectest.Node("category: job, type: noop, args: [{expected: e, value: null}]"),
		// what `if` compares may be an element, or given by the node
		"if an element":    spectest.Node("category: conditional, each: [xs:e], if: e, eq: {default: noop}"),
		"if an own arg":    spectest.Node("category: conditional, args: [{expected: e, value: v}], if: e, eq: {default: noop}"),
		"if gives the arg": spectest.Node("category: conditional, if: need, eq: {default: callee}, args: [{expected: need, given: x}]"),
		// y <- a <- b: set far before
		"set by an indirect dep": spectest.Nodes(spectest.SetsY, "  a: {category: job, type: noop, deps: [y]}", "  b: {category: job, type: noop, deps: [a], args: [{expected: y}]}"),
		// a <- b, both set y
		"set again later": spectest.Nodes("  a: {category: job, type: noop, sets: [{arg: y}]}", "  b: {category: job, type: noop, sets: [{arg: y}], deps: [a], args: [{expected: y}]}"),
		// every sequence that a conditional may call sets it
		"set on every path": spectest.Nodes(
			"  a: {category: conditional, if: x, eq: {v: callee, default: other}, args: [{expected: need, given: x}], sets: [{arg: out}]}",
			"  b: {category: job, type: noop, args: [{expected: out}], deps: [a]}") +
			"  other: {args: {optional: [{name: out, default: o}]}, " + spectest.OneNode + "}\n",
	}
	for name, text := range tests {
		specs, problems := grapher.Parse(map[string][]byte{"a.yaml": []byte(text)}, grapher.Options{})
		if specs == nil {
			t.Errorf("%s: %s", name, spectest.Show(problems))
			continue
		}
		for _, s := range specs.Sequences {
			if len(s.Order) != len(s.Nodes) {
				t.Errorf("%s: sequence %s has %d nodes and %d in order", name, s.Name, len(s.Nodes), len(s.Order))
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

func mustParse(t testing.TB, text string) *grapher.Specs {
	t.Helper()
	specs, problems := grapher.Parse(map[string][]byte{"a.yaml": []byte(text)}, grapher.Options{})
	spectest.NoErrors(t, problems)
	return specs
}
