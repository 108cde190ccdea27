// Package spectest has the small specs that the tests of grapher and its parts are
// written with. It knows neither grapher nor the checks.
package spectest

import (
	"strings"
	"testing"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/job"
)

// OneNode is the `nodes` of the smallest sequence.
const OneNode = "nodes: {a: {category: job, type: noop}}"

// Sequence returns specs of one request with these lines, indented by four.
func Sequence(lines ...string) string {
	return "sequences:\n  s:\n    request: true\n    " + strings.Join(lines, "\n    ") + "\n"
}

// Nodes returns specs of one request with arg x, these node lines, and a sequence
// that they can call. The line of a node that matters ends in "#!".
func Nodes(lines ...string) string {
	lines = append([]string{
		"args: {required: [{name: x}, {name: xs}]}",
		"nodes:"}, lines...)
	return Sequence(lines...) + `  callee:
    request: true
    args:
      required: [{name: need}]
      optional: [{name: may, default: ""}]
      static: [{name: fixed, default: ""}]
    nodes:
      n: {category: job, type: noop, sets: [{arg: may, as: out}], args: [{expected: may}]}
      use: {category: job, type: noop, args: [{expected: out}], deps: [n]}
`
}

// Node returns specs with one node that has these fields.
func Node(fields string) string { return Nodes("  a: {" + fields + "} #!") }

// SetsY is the line of a node that sets arg y.
const SetsY = "  y: {category: job, type: noop, sets: [{arg: y}]}"

// JobTypes is a registry of types that do nothing.
func JobTypes(names ...string) *job.Registry {
	r := job.NewRegistry()
	for _, name := range names {
		r.Register(name, func() job.Job { return nil })
	}
	return r
}

// Show returns the problems, a line for each.
func Show(problems problem.List) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

// NoErrors fails the test if a problem is an error.
func NoErrors(t testing.TB, problems problem.List) {
	t.Helper()
	if problems.HasErrors() {
		t.Fatalf("the specs have problems:\n%s", Show(problems))
	}
}
