package check_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/check"
	"github.com/treadle-run/treadle/grapher/internal/spectest"
	"github.com/treadle-run/treadle/job/builtin"
)

const reference = "../../docs/specs.md"

func readReference(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every example of the reference is a good spec, without a warning.
func TestReferenceExamples(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readReference(t), -1)
	if len(blocks) < 7 {
		t.Fatalf("found %d examples", len(blocks))
	}
	for i, block := range blocks {
		if !strings.Contains(block[1], "sequences:") {
			continue
		}
		_, problems := grapher.Parse(map[string][]byte{fmt.Sprintf("example-%d", i+1): []byte(block[1])}, grapher.Options{Registry: builtin.Registry()})
		if len(problems) > 0 {
			t.Errorf("example %d:\n%s", i+1, spectest.Show(problems))
		}
	}
}

// The reference lists every check, as the program knows it.
func TestReferenceChecks(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	want.WriteString("| check | | what it finds |\n|---|---|---|\n")
	for _, c := range check.All() {
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", c.Name, c.Severity, c.Doc)
	}
	_, rest, _ := strings.Cut(readReference(t), "<!-- checks: a test compares this table with the program -->\n")
	got, _, ok := strings.Cut(rest, "<!-- end of checks -->")
	if !ok || got != want.String() {
		t.Errorf("the table of checks in %s should be\n%s", reference, want.String())
	}
}
