package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/test/e2e"
)

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// No page links to a file that is not there.
func TestLinksInPages(t *testing.T) {
	t.Parallel()
	root := e2e.RepoDir()
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", strings.TrimPrefix(page, root+"/"), m[1])
			}
		}
	}
}

// The index of the documentation has every sample.
func TestSamplesAreListed(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile(filepath.Join(e2e.RepoDir(), "docs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range tries(t) {
		if !strings.Contains(string(index), "(../specs/"+s.file+")") {
			t.Errorf("docs/README.md does not list specs/%s", s.file)
		}
	}
}
