package grapher

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/grapher/internal/spectest"
	"github.com/treadle-run/treadle/proto"
)

// jobsOf parses specs, whose request is s, and returns its jobs as "name arg", sorted,
// where arg is the value of the arg named v.
func jobsOf(t *testing.T, text string, args proto.Values, warn ...string) []string {
	t.Helper()
	specs, problems := Parse(map[string][]byte{"a.yaml": []byte(text)}, Options{Registry: buildRegistry(nil), Warn: warn})
	spectest.NoErrors(t, problems)
	all, _, _, err := specs.RequestArgs("s", args)
	if err != nil {
		t.Fatal(err)
	}
	jc, err := specs.Build(t.Context(), "req", "s", all, nil)
	if err != nil {
		return []string{err.Error()}
	}
	jobs := []string{}
	for _, j := range jc.Jobs {
		if j.Type == "noop" {
			jobs = append(jobs, j.Name+" "+proto.Text(j.Args["v"]))
		}
	}
	slices.Sort(jobs)
	return jobs
}

// chooser is a request that compares x, with this `eq`.
func chooser(eq string) string {
	return `sequences:
  s:
    request: true
    args: {optional: [{name: x, type: "", default: ""}]}
    nodes: {c: {category: conditional, if: x, eq: ` + eq + `}}
  one: {nodes: {one: {category: job, type: noop}}}
  two: {nodes: {two: {category: job, type: noop}}}
`
}

// What specs that come from Spin Cycle mean is what they mean there.
func TestSpecsMeanWhatTheyMeanElsewhere(t *testing.T) {
	t.Parallel()
	const ownNoop = `sequences:
  s: {request: true, nodes: {c: {category: sequence, type: noop}}}
  noop: {nodes: {own: {category: job, type: noop}}}
`
	static := func(node string) string {
		return `sequences:
  s:
    request: true
    args: {optional: [{name: x, default: theirs}, {name: v, default: compared}]}
    nodes:
      c: {` + node + `}
  callee:
    args: {static: [{name: v, default: static}]}
    nodes: {job: {category: job, type: noop, args: [{expected: v}]}}
`
	}
	clash := func(given string) string {
		return `sequences:
  s:
    request: true
    args: {optional: [{name: v, default: outer}, {name: l, type: list, default: [element]}]}
    nodes: {c: {category: conditional, if: v, eq: {outer: seen, default: missed}, ` + given + `}}
  seen: {args: {required: [{name: v}]}, nodes: {seen: {category: job, type: noop, args: [{expected: v}]}}}
  missed: {args: {required: [{name: v}]}, nodes: {missed: {category: job, type: noop, args: [{expected: v}]}}}
`
	}
	twice := `sequences:
  s:
    request: true
    nodes:
      a: {category: job, type: noop, args: [{expected: v, value: first}]}
      b: {category: job, category: job, type: upper, type: noop, args: [{expected: v, value: 1, value: 2}]}
      a: {category: job, type: noop, args: [{expected: v, value: second}]}
`
	for _, tt := range []struct {
		name, spec string
		args       proto.Values
		warn       []string
		want       []string
	}{
		{name: "a sequence noop in the specs wins over the built-in one", spec: ownNoop, want: []string{"own null"}},
		{name: "a static arg that the caller does not give", spec: static("category: sequence, type: callee"), want: []string{"job static"}},
		{name: "a static arg takes the value of the caller", spec: static("category: sequence, type: callee, args: [{expected: v, given: x}]"), want: []string{"job theirs"}},
		{name: "a static arg takes a literal", spec: static("category: sequence, type: callee, args: [{expected: v, value: 7}]"), want: []string{"job 7"}},
		{name: "a static arg takes what `if` compares", spec: static("category: conditional, if: v, eq: {default: callee}"), want: []string{"job compared"}},
		{name: "`if` and `args` of one name", spec: clash("args: [{expected: v, value: own}]"), want: []string{"seen outer"}},
		{name: "`if` and `each` of one name", spec: clash("each: [l:v]"), want: []string{"seen outer"}},
		{name: "null matches null", spec: chooser("{null: one, default: two}"), args: proto.Values{"x": nil}, want: []string{"one null"}},
		{name: "null written ~", spec: chooser("{~: one, default: two}"), args: proto.Values{"x": nil}, want: []string{"one null"}},
		{name: "null does not match the text null", spec: chooser("{null: one, default: two}"), args: proto.Values{"x": "null"}, want: []string{"two null"}},
		{name: "~ does not match the text ~", spec: chooser("{~: one, default: two}"), args: proto.Values{"x": "~"}, want: []string{"two null"}},
		{name: "null does not match the empty text", spec: chooser("{null: one, default: two}"), args: proto.Values{"x": ""}, want: []string{"two null"}},
		{name: "the text null does not match null", spec: chooser(`{"null": one, default: two}`), args: proto.Values{"x": nil}, want: []string{"two null"}},
		{name: "null and the text null are two choices", spec: chooser(`{"null": one, null: two}`), args: proto.Values{"x": "null"}, want: []string{"one null"}},
		{
			name: "a null without a choice", spec: chooser(`{null: one, "x": two}`), args: proto.Values{"x": "y"},
			want: []string{`sequence s, node c (a.yaml:5): if: arg x is "y", and there is no default; the choices are "x", "null"`},
		},
		{name: "of keys that are there twice, the last counts", spec: twice, warn: []string{"duplicate-key"}, want: []string{"a second", "b 2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, jobsOf(t, tt.spec, tt.args, tt.warn...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
