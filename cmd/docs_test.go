package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/config"
	jr "github.com/treadle-run/treadle/job-runner/app"
	rm "github.com/treadle-run/treadle/request-manager/app"
)

var keyRow = regexp.MustCompile("^\\| `([a-z_.]+)` \\| `([A-Z_]+)` \\| (-|`[^`]*`) \\| .")

// documented returns key, variable and default of each row of the table of keys
// below the heading.
func documented(t *testing.T, heading string) []string {
	t.Helper()
	page, err := os.ReadFile("../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n"+heading+"\n")
	if !found {
		t.Fatalf("docs/operate.md has no %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n#")
	var rows []string
	for l := range strings.SplitSeq(section, "\n") {
		if m := keyRow.FindStringSubmatch(l); m != nil {
			rows = append(rows, m[1]+" "+m[2]+" "+strings.Trim(m[3], "`"))
		}
	}
	return rows
}

func actual(c any) []string {
	var rows []string
	for _, k := range config.Keys(c) {
		rows = append(rows, k.Path+" "+k.Env+" "+term.OrDash(k.Value))
	}
	return rows
}

func TestOperatePageHasEveryKey(t *testing.T) {
	t.Parallel()
	rmConfig, jrConfig := rm.Default(), jr.Default()
	if d := cmp.Diff(actual(&rmConfig), documented(t, "### Request Manager")); d != "" {
		t.Errorf("Request Manager (-struct +page):\n%s", d)
	}
	if d := cmp.Diff(actual(&jrConfig), documented(t, "### Job Runner")); d != "" {
		t.Errorf("Job Runner (-struct +page):\n%s", d)
	}
}

var configExample = regexp.MustCompile("(?s)`([a-z-]+)\\.yaml`:\n\n```yaml\n(.*?)```")

// Whoever takes the examples of the page as they are gets services that start.
func TestOperatePageHasGoodExamples(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	env := verb.Environment{}
	var found []string
	for _, m := range configExample.FindAllStringSubmatch(string(page), -1) {
		found = append(found, m[1])
		path := filepath.Join(t.TempDir(), m[1]+".yaml")
		writeFile(t, path, m[2])
		rmConfig, jrConfig := rm.Default(), jr.Default()
		if m[1] == "request-manager" {
			err = verb.LoadConfig(env, path, &rmConfig, rm.Config.Validate)
		} else {
			err = verb.LoadConfig(env, path, &jrConfig, jr.Config.Validate)
		}
		if err != nil {
			t.Errorf("%s.yaml: %v", m[1], err)
		}
	}
	if d := cmp.Diff([]string{"request-manager", "job-runner"}, found); d != "" {
		t.Errorf("the examples of the page: %s", d)
	}
}
