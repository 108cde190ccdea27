package check_test

import (
	"strings"

	"github.com/treadle-run/treadle/grapher/internal/spectest"
)

var long = strings.Repeat("n", 120)

// cut is how a message shows long.
var cut = "`" + long[:100] + "...`"

var badSequences = []badSpec{
	{check: "duplicate-sequence", where: "s", message: "the sequence is defined here and also at dir/bad.yaml:2",
		spec: spectest.Sequence(spectest.OneNode) + "  s: {request: true, " + spectest.OneNode + "} #!\n"},
	{check: "duplicate-sequence", where: "s", message: "the sequence is defined here and also at dir/bad.yaml:2",
		spec: spectest.Sequence(spectest.OneNode) + "---\nsequences:\n  s: {request: true, " + spectest.OneNode + "} #!\n"},
	{check: "duplicate-sequence", where: "noop", message: "the sequence is defined here and also at dir/bad.yaml:2",
		spec: "sequences:\n  noop: {request: true, " + spectest.OneNode + "}\n  noop: {request: true, " + spectest.OneNode + "} #!\n"},

	{check: "name", message: "the name of a sequence is empty", spec: "sequences:\n  '': {request: true, " + spectest.OneNode + "} #!\n"},
	{check: "name", where: long[:76], message: "the name of a sequence has 76 bytes, and the limit is 75: `" + long[:76] + "`",
		spec: "sequences:\n  " + long[:76] + ": {request: true, " + spectest.OneNode + "} #!\n"},
	{check: "name", where: `a\tb`, message: "the name of a sequence has control characters: `a\\tb`",
		spec: "sequences:\n  \"a\\tb\": {request: true, " + spectest.OneNode + "} #!\n"},
	{check: "name", where: "s", message: "the name of a node is empty", spec: spectest.Nodes("  '': {category: job, type: noop} #!")},
	{check: "name", where: "s/" + long[:100] + "...", message: "the name of a node has 120 bytes, and the limit is 100: " + cut,
		spec: spectest.Nodes("  " + long + ": {category: job, type: noop} #!")},
	{check: "name", where: `s/a\nb`, message: "the name of a node has control characters: `a\\nb`", spec: spectest.Nodes(`  "a\nb": {category: job, type: noop} #!`)},
	{check: "name", where: `s/a\u0085b`, message: "the name of a node has control characters: `a\\u0085b`", spec: spectest.Nodes(`  "a\u0085b": {category: job, type: noop} #!`)},
	{check: "name", where: "s", message: "the name of an arg is empty", spec: spectest.Sequence("args: {required: [{desc: x}]} #!", spectest.OneNode)},
	{check: "name", where: "s", message: "the name of an arg has 120 bytes, and the limit is 100: " + cut,
		spec: spectest.Sequence("args:", "  required:", "    - desc: x", "      name: "+long+" #!", spectest.OneNode)},
	{check: "name", where: "s", message: "the name of an arg must not have a slash: `a/b`", spec: spectest.Sequence("args: {required: [{name: a/b}]} #!", spectest.OneNode)},
	{check: "name", where: "s/a", message: "the name of an arg must not have a slash: `a/b`", spec: spectest.Nodes("  a: {category: job, type: noop, args: [{expected: a/b, given: x}]} #!")},
	{check: "name", where: "s/a", message: "the name of an arg must not have a slash: `a/b`", spec: spectest.Nodes("  a: {category: job, type: noop, each: [xs:a/b]} #!")},
	{check: "name", where: "s/a", message: "the name of an arg has 120 bytes, and the limit is 100: " + cut, spec: spectest.Nodes("  a: {category: job, type: noop, sets: [{arg: x, as: " + long + "}]} #!")},

	{check: "no-nodes", where: "s", message: "the sequence has no `nodes`", spec: "sequences:\n  s: #!\n    request: true\n"},
	{check: "no-nodes", where: "s", message: "the sequence has no `nodes`", spec: "sequences:\n  s: #!\n    request: true\n    nodes:\n"},
	{check: "no-nodes", where: "s", message: "`nodes` is empty: a sequence needs at least one", spec: spectest.Sequence("nodes: {} #!")},

	{check: "call-cycle", where: "s/a", message: "sequences call each other in a cycle: `s` -> `s`",
		spec: spectest.Nodes("  a:", "    category: sequence", "    type: s #!", "    args: [{expected: x}, {expected: xs}]")},
	{check: "call-cycle", where: "a/n", message: "sequences call each other in a cycle: `a` -> `b` -> `a`",
		spec: "sequences:\n  a:\n    nodes:\n      n: {category: sequence, type: b} #!\n  b:\n    args: {optional: [{name: v, default: x}]}\n    nodes:\n      n: {category: conditional, if: v, eq: {x: a, default: noop}}\n"},
	{check: "dep-cycle", where: "s/a", message: "deps form a cycle: `a` -> `a`", spec: spectest.Nodes("  a: {category: job, type: noop, deps: [a]} #!")},
	{check: "dep-cycle", where: "s/a", message: "deps form a cycle: `a` -> `c` -> `b` -> `a`",
		spec: spectest.Nodes("  a: {category: job, type: noop, deps: [c]} #!", "  b: {category: job, type: noop, deps: [a]}", "  c: {category: job, type: noop, deps: [b]}")},

	{check: "timeout", where: "s", message: "`timeout` is `soon`, which is not a duration: write a number with a unit, such as 30s, 5m or 1h30m", spec: spectest.Sequence("timeout: soon #!", spectest.OneNode)},
	{check: "timeout", where: "s/a", message: "`timeout` is negative: -1s", spec: spectest.Nodes("  a: {category: job, type: noop, timeout: -1s} #!")},
	{check: "timeout", where: "s/a", message: "`timeout` must be more than 0; leave it out for none", spec: spectest.Nodes("  a: {category: job, type: noop, timeout: 0s} #!")},
	{check: "timeout", where: "s", message: "`timeout` must be more than 0; leave it out for none", spec: spectest.Sequence("timeout: 0 #!", spectest.OneNode)},
	{check: "timeout", where: "t", message: "`timeout` limits a whole request, and the sequence is not a request: put it on the node that calls it, or set `request: true`",
		spec: spectest.Sequence("nodes: {a: {category: sequence, type: t}}") + "  t:\n    timeout: 1s #!\n    " + spectest.OneNode},

	{check: "acl-role", where: "s", message: "the `acl` entry has no `role`", spec: spectest.Sequence("acl: [{admin: true}] #!", spectest.OneNode)},
	{check: "acl-role", where: "s", message: "the `acl` entry has no `role`", spec: spectest.Sequence("acl: [{role: '', ops: [start]}] #!", spectest.OneNode)},
	{check: "acl-duplicate", where: "s", message: "role `r` is here and also on line 5: put its ops together",
		spec: spectest.Sequence("acl:", "  - {role: r, ops: [start]}", "  - {role: r, ops: [stop]} #!", spectest.OneNode)},
	{check: "acl-admin-ops", where: "s", message: "role `r` has `admin`, which is all ops: leave `ops` out", spec: spectest.Sequence("acl: [{role: r, admin: true, ops: [start]}] #!", spectest.OneNode)},
	{check: "acl-op", where: "s", message: "unknown op `stat`, did you mean `start`?", spec: spectest.Sequence("acl: [{role: r, ops: [stat]}] #!", spectest.OneNode)},
	{check: "acl-op", where: "s", message: "unknown op `suspend`: the ops are `start`, `stop`", spec: spectest.Sequence("acl: [{role: r, ops: [suspend]}] #!", spectest.OneNode)},

	{check: "unused-sequence", where: "s", message: "no node calls the sequence, and users cannot ask for it without `request: true`",
		spec: "sequences:\n  s: #!\n    " + spectest.OneNode},
}

// withArg returns specs with an arg of the list that has these fields.
func withArg(list, arg string) string {
	return spectest.Sequence("args:", "  "+list+":", "    - "+arg+" #!", spectest.OneNode)
}

var badArgs = []badSpec{
	{check: "duplicate-arg", where: "s", message: "the sequence has arg `x` here and also on line 5",
		spec: spectest.Sequence("args:", "  required: [{name: x}]", "  optional: [{name: x, default: y}] #!", spectest.OneNode)},
	{check: "duplicate-arg", where: "s", message: "the sequence has arg `x` here and also on line 6",
		spec: spectest.Sequence("args:", "  static:", "    - {name: x, default: y}", "    - {name: x, default: y} #!", spectest.OneNode)},
	{check: "required-default", where: "s", message: "required arg `x` has a default: leave it out, or make the arg optional", spec: withArg("required", "{name: x, default: y}")},
	{check: "missing-default", where: "s", message: "optional arg `x` has no `default` (the empty text is \"\")", spec: withArg("optional", "{name: x}")},
	{check: "missing-default", where: "s", message: "optional arg `x` has no `default` (the empty text is \"\")", spec: withArg("optional", "{name: x, default: null}")},
	{check: "missing-default", where: "s", message: "static arg `x` has no `default` (the empty text is \"\")", spec: withArg("static", "{name: x}")},

	{check: "arg-rules", where: "s", message: "unknown type `integer`: the types are `string`, `int`, `float`, `bool`, `list`, `object`", spec: withArg("required", "{name: x, type: integer}")},
	{check: "arg-rules", where: "s", message: "unknown type `strng`, did you mean `string`?", spec: withArg("required", "{name: x, type: strng}")},
	{check: "arg-rules", where: "s", message: "each choice in `enum` of `x` must be a whole number (int), not the text `b`", spec: withArg("required", "{name: x, type: int, enum: [1, b]}")},
	{check: "arg-rules", where: "s", message: "each choice in `enum` of `x` must be a whole number (int), not the text `a`", spec: withArg("required", "{name: x, type: int, enum: [a, a]}")},
	{check: "arg-rules", where: "s", message: "`enum` of `x` is empty: no value would be allowed", spec: withArg("required", "{name: x, enum: []}")},
	{check: "arg-rules", where: "s", message: "`pattern` of `x`: `a(` is not a regular expression: error parsing regexp: missing closing ): `a(`", spec: withArg("required", "{name: x, pattern: 'a('}")},
	{check: "arg-rules", where: "s", message: "`pattern` of `x` needs a string, and the type is int", spec: withArg("required", "{name: x, type: int, pattern: ^a}")},

	{check: "loose-pattern", where: "s", message: "`pattern` of `x` has no anchor, so a value matches if any part of it does; to match the whole value, write `^([a-z]+)$`", spec: withArg("required", "{name: x, pattern: '[a-z]+'}")},

	{check: "bad-default", where: "s", message: "the default of `x` must be a whole number (int), not the number 1.5", spec: withArg("optional", "{name: x, type: int, default: 1.5}")},
	{check: "bad-default", where: "s", message: "the default of `x` must be a whole number (int), not the text `5`", spec: withArg("optional", "{name: x, type: int, default: '5'}")},
	{check: "bad-default", where: "s", message: "the default of `x` must be a number (float), not the text `a`", spec: withArg("optional", "{name: x, type: float, default: a}")},
	{check: "bad-default", where: "s", message: "the default of `x` must be true or false (bool), not the text `yes`", spec: withArg("static", "{name: x, type: bool, default: yes}")},
	{check: "bad-default", where: "s", message: "the default of `x` must be a list, not an object", spec: withArg("optional", "{name: x, type: list, default: {}}")},
	{check: "bad-default", where: "s", message: "the default of `x` must be an object, not a list", spec: withArg("optional", "{name: x, type: object, default: []}")},
	{check: "bad-default", where: "s", message: "the default of `x` must be a string, not a list", spec: withArg("optional", "{name: x, type: string, default: []}")},
	{check: "bad-default", where: "s", message: "the default of `x` must be one of `a`, `b`, not the string `c`", spec: withArg("optional", "{name: x, enum: [a, b], default: c}")},
	{check: "bad-default", where: "s", message: "the default of `x` must be one of `1`, `2`, not 3", spec: withArg("optional", "{name: x, type: int, enum: [1, 2], default: 3}")},
	{check: "bad-default", where: "s", message: "the default of `x` must match `^[a-z]+$`, and the string `a1` does not", spec: withArg("optional", "{name: x, pattern: '^[a-z]+$', default: a1}")},
	{check: "bad-default", where: "s", message: "the default of `x` must match `^[a-z]+$`, and the secret that is given does not", spec: withArg("optional", "{name: x, secret: true, pattern: '^[a-z]+$', default: a1}")},
}
