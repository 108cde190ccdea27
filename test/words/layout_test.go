package words

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The layout in CONTRIBUTING.md has every folder of the root, and none that is not there.
func TestLayoutHasEveryFolder(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "<!-- layout:")
	table, _, foundEnd := strings.Cut(table, "<!-- end of layout -->")
	if !found || !foundEnd {
		t.Fatal("CONTRIBUTING.md has no table between the comments of the layout")
	}
	var listed []string
	for line := range strings.SplitSeq(table, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range regexp.MustCompile("`([^`]+)/`").FindAllStringSubmatch(cells[1], -1) {
				listed = append(listed, m[1])
			}
		}
	}
	for _, dir := range listed {
		if info, err := os.Stat(filepath.Join(root, dir)); err != nil || !info.IsDir() {
			t.Errorf("CONTRIBUTING.md lists %s/, which is not there", dir)
		}
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		dir := e.Name()
		if !e.IsDir() || strings.HasPrefix(dir, ".") || dir == "bin" || dir == "dist" {
			continue
		}
		in := func(l string) bool { return l == dir || strings.HasPrefix(l, dir+"/") }
		if !slices.ContainsFunc(listed, in) {
			t.Errorf("CONTRIBUTING.md does not list %s/", dir)
		}
	}
}
