package check_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/internal/spectest"
	"github.com/treadle-run/treadle/grapher/problem"
)

var badLiterals = []badSpec{
	{check: "literal", where: "s/a", message: "`1.10` is the number 1.1 in YAML: write it in quotes if the text is meant, or else write 1.1",
		spec: spectest.Node("category: job, type: noop, args: [{expected: v, value: [1.9, 1.10]}]")},
	{check: "literal", where: "s/a", message: "`0644` is the number 420 in YAML: write it in quotes if the text is meant, or else write 420",
		spec: spectest.Node("category: job, type: noop, args: [{expected: v, value: {mode: 0644}}]")},
	{check: "literal", app: "x", message: "`1_000` is the number 1000 in YAML: write it in quotes if the text is meant, or else write 1000",
		spec: apps("x:", "  request: check", "  every: 1m", "  args:", "    feed: 1_000 #!")},
	{check: "literal", where: "s", message: "`0644` is the number 420 in YAML: write it in quotes if the text is meant, or else write 420",
		spec: spectest.Sequence("args: {optional: [{name: x, type: int, default: 0644}]} #!", spectest.OneNode)},
	{check: "wrong-type", where: "s/a", message: "`value`: the whole number 18446744073709551616 does not fit in 64 bits: write it in quotes to give it as text",
		spec: spectest.Node("category: job, type: noop, args: [{expected: v, value: [18446744073709551616]}]")},
	{check: "wrong-type", where: "s/a", message: "`value`: the whole number -9223372036854775809 does not fit in 64 bits: write it in quotes to give it as text",
		spec: spectest.Node("category: job, type: noop, args: [{expected: v, value: {deep: [-9223372036854775809]}}]")},
	{check: "wrong-type", app: "x", message: "arg `feed`: the whole number 100000000000000000000 does not fit in 64 bits: write it in quotes to give it as text",
		spec: apps("x: {request: check, every: 1m, args: {feed: 100000000000000000000}} #!")},
	{check: "bad-default", where: "s", message: "the default of `x` cannot be read: the whole number 18446744073709551616 does not fit in 64 bits: write it in quotes to give it as text",
		spec: spectest.Sequence("args: {optional: [{name: x, type: int, default: 18446744073709551616}]} #!", spectest.OneNode)},
}

func TestBadLiterals(t *testing.T) { t.Parallel(); runBadSpecs(t, badLiterals) }

// A literal is warned about if its text would come out different, and only then.
func TestLiteralsThatYAMLChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		where string // the line of a node arg, with %s for the literal
		text  string
		warns bool
	}{
		{"value", "1.10", true}, {"value", "1.0", true}, {"value", "1.", true}, {"value", ".5", true}, {"value", "1e3", true},
		{"value", "0644", true}, {"value", "0o644", true}, {"value", "0x1F", true}, {"value", "0b11", true}, {"value", "007", true},
		{"value", "1_000", true}, {"value", "+5", true}, {"value", "3.14159265358979323846", true}, {"value", "True", true}, {"value", "FALSE", true},
		{"value", "1.9", false}, {"value", "0", false}, {"value", "-7", false}, {"value", "18446744073709551615", false}, {"value", "0.1", false},
		{"value", "true", false}, {"value", "~", false}, {"value", "null", false}, {"value", `"1.10"`, false}, {"value", "'0644'", false},
		{"value", "1.2.3", false}, {"value", "2011-01-02", false}, {"value", "12:30:45", false}, {"value", "yes", false}, {"value", "!!str 0644", false},
		{"int", "0644", true}, {"int", "1_000", false}, {"int", "0x1F", false}, {"int", "+5", false}, {"int", "5", false},
		{"float", "1.50", false}, {"float", "1e3", false}, {"float", "1_0.5", false}, {"float", "2", false},
		{"bool", "True", false}, {"string", "0644", false}, {"\"\"", "1.10", false},
		{"list", "[1.10]", true}, {"object", "{a: 0644}", true},
	} {
		spec := spectest.Sequence("nodes: {a: {category: job, type: noop, args: [{expected: v, value: " + tt.text + "}]}}")
		if tt.where != "value" {
			spec = spectest.Sequence("args: {optional: [{name: x, type: "+tt.where+", default: "+tt.text+"}]}", spectest.OneNode)
		}
		specs, problems := grapher.Parse(map[string][]byte{"a.yaml": []byte(spec)}, grapher.Options{})
		if specs == nil {
			t.Errorf("%s %s: %s", tt.where, tt.text, spectest.Show(problems))
			continue
		}
		var got []string
		for _, p := range problems {
			got = append(got, string(p.Severity)+" "+p.Check)
		}
		var want []string
		if tt.warns {
			want = []string{string(problem.Warning) + " literal"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s: %s", tt.where, tt.text, diff)
		}
	}
}
