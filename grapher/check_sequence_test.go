package grapher

import "strings"

var long = strings.Repeat("n", 120)

// cut is how a message shows long.
var cut = "`" + long[:100] + "...`"

var badSequences = []badSpec{
	{check: "duplicate-sequence", where: "s", message: "the sequence is defined here and at dir/bad.yaml:2",
		spec: sequence(oneNode) + "  s: {request: true, " + oneNode + "} #!\n"},
	{check: "duplicate-sequence", where: "s", message: "the sequence is defined here and at dir/bad.yaml:2",
		spec: sequence(oneNode) + "---\nsequences:\n  s: {request: true, " + oneNode + "} #!\n"},
	{check: "duplicate-sequence", where: "noop", message: "`noop` is the name of a built-in sequence: take another",
		spec: "sequences:\n  noop: {request: true, " + oneNode + "} #!\n"},

	{check: "name", message: "the name of a sequence is empty", spec: "sequences:\n  '': {request: true, " + oneNode + "} #!\n"},
	{check: "name", where: long[:76], message: "the name of a sequence may have 75 bytes, `" + long[:76] + "` has 76",
		spec: "sequences:\n  " + long[:76] + ": {request: true, " + oneNode + "} #!\n"},
	{check: "name", where: `a\tb`, message: "the name of a sequence has control characters: `a\\tb`",
		spec: "sequences:\n  \"a\\tb\": {request: true, " + oneNode + "} #!\n"},
	{check: "name", where: "s", message: "the name of a node is empty", spec: nodes("  '': {category: job, type: noop} #!")},
	{check: "name", where: "s/" + long[:100] + "...", message: "the name of a node may have 100 bytes, " + cut + " has 120",
		spec: nodes("  " + long + ": {category: job, type: noop} #!")},
	{check: "name", where: `s/a\nb`, message: "the name of a node has control characters: `a\\nb`", spec: nodes(`  "a\nb": {category: job, type: noop} #!`)},
	{check: "name", where: `s/a\u0085b`, message: "the name of a node has control characters: `a\\u0085b`", spec: nodes(`  "a\u0085b": {category: job, type: noop} #!`)},
	{check: "name", where: "s", message: "the name of an arg is empty", spec: sequence("args: {required: [{desc: x}]} #!", oneNode)},
	{check: "name", where: "s", message: "the name of an arg may have 100 bytes, " + cut + " has 120",
		spec: sequence("args:", "  required:", "    - desc: x", "      name: "+long+" #!", oneNode)},
	{check: "name", where: "s", message: "the name of an arg must not have a slash: `a/b`", spec: sequence("args: {required: [{name: a/b}]} #!", oneNode)},
	{check: "name", where: "s/a", message: "the name of an arg must not have a slash: `a/b`", spec: nodes("  a: {category: job, type: noop, args: [{expected: a/b, given: x}]} #!")},
	{check: "name", where: "s/a", message: "the name of an arg must not have a slash: `a/b`", spec: nodes("  a: {category: job, type: noop, each: [xs:a/b]} #!")},
	{check: "name", where: "s/a", message: "the name of an arg may have 100 bytes, " + cut + " has 120", spec: nodes("  a: {category: job, type: noop, sets: [{arg: x, as: " + long + "}]} #!")},

	{check: "no-nodes", where: "s", message: "the sequence has no `nodes`", spec: "sequences:\n  s: #!\n    request: true\n"},
	{check: "no-nodes", where: "s", message: "the sequence has no `nodes`", spec: "sequences:\n  s: #!\n    request: true\n    nodes:\n"},
	{check: "no-nodes", where: "s", message: "`nodes` is empty: a sequence needs at least one", spec: sequence("nodes: {} #!")},

	{check: "sequence-circle", where: "s/a", message: "sequences call each other in a circle: `s` -> `s`",
		spec: nodes("  a:", "    category: sequence", "    type: s #!", "    args: [{expected: x}, {expected: xs}]")},
	{check: "sequence-circle", where: "a/n", message: "sequences call each other in a circle: `a` -> `b` -> `a`",
		spec: "sequences:\n  a:\n    nodes:\n      n: {category: sequence, type: b} #!\n  b:\n    args: {optional: [{name: v, default: x}]}\n    nodes:\n      n: {category: conditional, if: v, eq: {x: a, default: noop}}\n"},
	{check: "dep-circle", where: "s/a", message: "deps go in a circle: `a` -> `a`", spec: nodes("  a: {category: job, type: noop, deps: [a]} #!")},
	{check: "dep-circle", where: "s/a", message: "deps go in a circle: `a` -> `c` -> `b` -> `a`",
		spec: nodes("  a: {category: job, type: noop, deps: [c]} #!", "  b: {category: job, type: noop, deps: [a]}", "  c: {category: job, type: noop, deps: [b]}")},

	{check: "timeout", where: "s", message: "`timeout` is `soon`, which is no duration: write a number with a unit, such as 30s, 5m or 1h30m", spec: sequence("timeout: soon #!", oneNode)},
	{check: "timeout", where: "s/a", message: "`timeout` is negative: -1s", spec: nodes("  a: {category: job, type: noop, timeout: -1s} #!")},
	{check: "timeout", where: "s/a", message: "`timeout` must be more than 0; leave it out for none", spec: nodes("  a: {category: job, type: noop, timeout: 0s} #!")},
	{check: "timeout", where: "s", message: "`timeout` must be more than 0; leave it out for none", spec: sequence("timeout: 0 #!", oneNode)},
	{check: "timeout", where: "t", message: "`timeout` bounds a whole request, and the sequence is none: put it on the node that calls it, or set `request: true`",
		spec: sequence("nodes: {a: {category: sequence, type: t}}") + "  t:\n    timeout: 1s #!\n    " + oneNode},

	{check: "acl-role", where: "s", message: "the `acl` entry has no `role`", spec: sequence("acl: [{admin: true}] #!", oneNode)},
	{check: "acl-role", where: "s", message: "the `acl` entry has no `role`", spec: sequence("acl: [{role: '', ops: [start]}] #!", oneNode)},
	{check: "acl-duplicate", where: "s", message: "role `r` stands here and on line 5: put its ops together",
		spec: sequence("acl:", "  - {role: r, ops: [start]}", "  - {role: r, ops: [stop]} #!", oneNode)},
	{check: "acl-admin-ops", where: "s", message: "role `r` has `admin`, which is all ops: leave `ops` out", spec: sequence("acl: [{role: r, admin: true, ops: [start]}] #!", oneNode)},
	{check: "acl-op", where: "s", message: "unknown op `stat`, did you mean `start`?", spec: sequence("acl: [{role: r, ops: [stat]}] #!", oneNode)},
	{check: "acl-op", where: "s", message: "unknown op `suspend`: the ops are `start`, `stop`", spec: sequence("acl: [{role: r, ops: [suspend]}] #!", oneNode)},

	{check: "unused-sequence", where: "s", message: "no node calls the sequence, and without `request: true` no user can ask for it",
		spec: "sequences:\n  s: #!\n    " + oneNode},
}

// withArg returns specs with an arg of the list that has these fields.
func withArg(list, arg string) string {
	return sequence("args:", "  "+list+":", "    - "+arg+" #!", oneNode)
}

var badArgs = []badSpec{
	{check: "duplicate-arg", where: "s", message: "the sequence has arg `x` here and on line 5",
		spec: sequence("args:", "  required: [{name: x}]", "  optional: [{name: x, default: y}] #!", oneNode)},
	{check: "duplicate-arg", where: "s", message: "the sequence has arg `x` here and on line 6",
		spec: sequence("args:", "  static:", "    - {name: x, default: y}", "    - {name: x, default: y} #!", oneNode)},
	{check: "required-default", where: "s", message: "required arg `x` has a default: leave it out, or make the arg optional", spec: withArg("required", "{name: x, default: y}")},
	{check: "missing-default", where: "s", message: "optional arg `x` has no `default` (the empty text is \"\")", spec: withArg("optional", "{name: x}")},
	{check: "missing-default", where: "s", message: "optional arg `x` has no `default` (the empty text is \"\")", spec: withArg("optional", "{name: x, default: null}")},
	{check: "missing-default", where: "s", message: "static arg `x` has no `default` (the empty text is \"\")", spec: withArg("static", "{name: x}")},

	{check: "arg-rules", where: "s", message: "unknown type `integer`: the types are `string`, `int`, `float`, `bool`, `list`, `object`", spec: withArg("required", "{name: x, type: integer}")},
	{check: "arg-rules", where: "s", message: "unknown type `strng`, did you mean `string`?", spec: withArg("required", "{name: x, type: strng}")},
	{check: "arg-rules", where: "s", message: "each choice in `enum` of `x` must be a whole number (int), not the text `b`", spec: withArg("required", "{name: x, type: int, enum: [1, b]}")},
	{check: "arg-rules", where: "s", message: "each choice in `enum` of `x` must be a whole number (int), not the text `a`", spec: withArg("required", "{name: x, type: int, enum: [a, a]}")},
	{check: "arg-rules", where: "s", message: "`enum` of `x` is empty: no value would be allowed", spec: withArg("required", "{name: x, enum: []}")},
	{check: "arg-rules", where: "s", message: "`pattern` of `x`: `a(` is no regular expression: error parsing regexp: missing closing ): `a(`", spec: withArg("required", "{name: x, pattern: 'a('}")},
	{check: "arg-rules", where: "s", message: "`pattern` of `x` needs a string, and the type is int", spec: withArg("required", "{name: x, type: int, pattern: ^a}")},

	{check: "loose-pattern", where: "s", message: "`pattern` of `x` has no anchor, so that a value matches if any part of it does; the whole value is meant by `^([a-z]+)$`", spec: withArg("required", "{name: x, pattern: '[a-z]+'}")},

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
