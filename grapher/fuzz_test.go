package grapher

import "testing"

// FuzzParse: whatever a file has, Parse returns; with specs whose nodes have an
// order or with an error, never both.
func FuzzParse(f *testing.F) {
	for _, rows := range [][]badSpec{badFiles, badSequences, badArgs, badNodes, badFlows} {
		for _, row := range rows {
			if len(row.spec) < 10_000 {
				f.Add([]byte(row.spec))
			}
		}
	}
	f.Add([]byte(argsSpec))
	f.Fuzz(func(t *testing.T, b []byte) {
		specs, problems := Parse(map[string][]byte{"a.yaml": b}, Options{})
		if (specs == nil) != problems.HasErrors() {
			t.Fatalf("specs %v with problems\n%s", specs, showProblems(problems))
		}
		for _, p := range problems {
			if p.Line < 1 || p.Check == "" || p.Message == "" {
				t.Errorf("problem %+v", p)
			}
		}
		if specs == nil {
			return
		}
		for _, s := range specs.Sequences {
			if len(s.order) != len(s.Nodes) {
				t.Errorf("sequence %s has %d nodes and %d in order", s.Name, len(s.Nodes), len(s.order))
			}
		}
		specs.Requests()
	})
}
