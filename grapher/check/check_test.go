package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/check"
	"github.com/treadle-run/treadle/grapher/internal/spectest"
	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/job"
)

// badSpec is specs with one thing wrong. The line of the problem is the one that
// ends in "#!".
type badSpec struct {
	check   string
	where   string // "sequence/node", "sequence" or ""
	app     string
	message string // all of it
	spec    string
	line    int // if no line can be marked
	// registry has the job types, if they are not noop and team/deploy.
	registry *job.Registry
}

// run checks that exactly the problem is found: nothing else of its severity, and
// no other error.
func (b badSpec) run(t *testing.T) {
	t.Helper()
	if b.registry == nil {
		b.registry = spectest.JobTypes("noop", "team/deploy")
	}
	specs, problems := grapher.Parse(map[string][]byte{"dir/bad.yaml": []byte(b.spec)}, grapher.Options{Registry: b.registry})
	line := b.line
	for i, text := range strings.Split(b.spec, "\n") {
		if strings.HasSuffix(text, "#!") {
			line = i + 1
		}
	}
	want := fmt.Sprintf("dir/bad.yaml:%d: %s: ", line, check.Severity(b.check, nil))
	if b.where != "" {
		sequence, node, ok := strings.Cut(b.where, "/")
		want += "sequence " + sequence
		if ok {
			want += ", node " + node
		}
		want += ": "
	}
	if b.app != "" {
		want += "app " + b.app + ": "
	}
	want += b.message + " (" + b.check + ")"
	var got []string
	for _, p := range problems {
		if p.Severity == problem.Error || check.Severity(b.check, nil) == problem.Warning {
			got = append(got, p.String())
		}
	}
	if len(got) != 1 || got[0] != want {
		t.Errorf("got\n%s\nwant\n%s\nof\n%s", strings.Join(got, "\n"), want, b.spec)
	}
	if isError := check.Severity(b.check, nil) == problem.Error; (specs == nil) != isError {
		t.Errorf("specs are %v for a problem that is an error: %v", specs, isError)
	}
}

func runBadSpecs(t *testing.T, rows []badSpec) {
	t.Helper()
	for i, row := range rows {
		t.Run(fmt.Sprintf("%s %d", row.check, i), func(t *testing.T) {
			t.Parallel()
			row.run(t)
		})
	}
}

// Every check has a row, in one of the files beside it.
func TestEveryCheckHasABadSpec(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{"warn-option": true, "unreadable": true} // TestWarn, TestLoadReportsWhatItCannotRead
	for _, rows := range [][]badSpec{badFiles, badSequences, badArgs, badNodes, badFlows, badApps, badLiterals, badJobArgs} {
		for _, row := range rows {
			seen[row.check] = true
		}
	}
	names := map[string]bool{}
	for _, c := range check.All() {
		if names[c.Name] {
			t.Errorf("two checks have the name %s", c.Name)
		}
		names[c.Name] = true
		if !seen[c.Name] {
			t.Errorf("check %s has no bad spec", c.Name)
		}
		if c.Doc == "" {
			t.Errorf("check %s says nothing about itself", c.Name)
		}
	}
	for name := range seen {
		if !names[name] {
			t.Errorf("check %s is not in the table", name)
		}
	}
}

func TestBadFiles(t *testing.T)     { t.Parallel(); runBadSpecs(t, badFiles) }
func TestBadSequences(t *testing.T) { t.Parallel(); runBadSpecs(t, badSequences) }
func TestBadArgs(t *testing.T)      { t.Parallel(); runBadSpecs(t, badArgs) }
func TestBadNodes(t *testing.T)     { t.Parallel(); runBadSpecs(t, badNodes) }
func TestBadApps(t *testing.T)      { t.Parallel(); runBadSpecs(t, badApps) }
func TestBadFlows(t *testing.T)     { t.Parallel(); runBadSpecs(t, badFlows) }

func mustParse(t testing.TB, text string) *grapher.Specs {
	t.Helper()
	specs, problems := grapher.Parse(map[string][]byte{"a.yaml": []byte(text)}, grapher.Options{})
	spectest.NoErrors(t, problems)
	return specs
}
