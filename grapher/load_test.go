package grapher

import (
	"strings"
	"testing"
)

func mustParse(t *testing.T, text string) *Specs {
	t.Helper()
	specs, problems := Parse(map[string][]byte{"a.yaml": []byte(text)}, Options{})
	if specs == nil {
		t.Fatalf("the specs have problems:\n%s", showProblems(problems))
	}
	return specs
}

func showProblems(problems Problems) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

func TestParseOrdersNodes(t *testing.T) {
	t.Parallel()
	specs := mustParse(t, `
sequences:
  s:
    request: true
    nodes:
      c: {category: job, type: noop}
      b: {category: job, type: noop, deps: [c]}
      a: {category: job, type: noop, deps: [b]}
      d: {category: job, type: noop}
`)
	var got []string
	for _, n := range specs.Sequences["s"].order {
		got = append(got, n.Name)
	}
	if want := "c b a d"; strings.Join(got, " ") != want {
		t.Errorf("order is %v, want %s", got, want)
	}
}
