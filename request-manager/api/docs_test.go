package api

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPageHasEveryRoute holds docs/api.md to the table of routes.
func TestPageHasEveryRoute(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tables, found := strings.Cut(string(page), "## All routes of the Request Manager")
	tables, _, found2 := strings.Cut(tables, "## All routes of the Job Runner")
	if !found || !found2 {
		t.Fatal("the page has no section of routes")
	}
	var documented, served []string
	for line := range strings.Lines(tables) {
		if route, ok := strings.CutPrefix(line, "| `"); ok {
			route, _, _ = strings.Cut(route, "`")
			documented = append(documented, route)
		}
	}
	s := &server{cfg: Config{}.withDefaults()}
	for _, r := range s.routes() {
		served = append(served, r.Method+" "+r.Path)
	}
	slices.Sort(documented)
	slices.Sort(served)
	if diff := cmp.Diff(served, documented); diff != "" {
		t.Errorf("docs/api.md (-served +documented):\n%s", diff)
	}
}
