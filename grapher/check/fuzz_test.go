package check_test

import (
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/internal/spectest"
)

// FuzzParse: whatever a file has, Parse returns soon; with specs whose nodes have an
// order or with an error, never both; and every problem is on a line of the file.
func FuzzParse(f *testing.F) {
	for _, rows := range [][]badSpec{badFiles, badSequences, badArgs, badNodes, badFlows, badApps, badLiterals} {
		for _, row := range rows {
			if len(row.spec) < 10_000 {
				f.Add([]byte(row.spec))
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		start := time.Now()
		specs, problems := grapher.Parse(map[string][]byte{"a.yaml": b}, grapher.Options{})
		if (specs == nil) != problems.HasErrors() {
			t.Fatalf("specs %v with problems\n%s", specs, spectest.Show(problems))
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%d bytes took %s", len(b), took)
		}
		// YAML counts more line breaks than \n; what is missing at the end of a file is on the line after it.
		lines := 2 + strings.Count(strings.NewReplacer("\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(string(b)), "\n")
		for _, p := range problems {
			if p.Line < 1 || p.Line > lines || p.Check == "" || p.Message == "" {
				t.Errorf("problem %+v", p)
			}
		}
		if specs == nil {
			return
		}
		for _, s := range specs.Sequences {
			if len(s.Order) != len(s.Nodes) {
				t.Errorf("sequence %s has %d nodes and %d in order", s.Name, len(s.Nodes), len(s.Order))
			}
		}
		specs.Requests()
	})
}
