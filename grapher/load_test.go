package grapher

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/grapher/internal/spectest"
	"github.com/treadle-run/treadle/grapher/problem"
)

func mustParse(t *testing.T, text string) *Specs {
	t.Helper()
	specs, problems := Parse(map[string][]byte{"a.yaml": []byte(text)}, Options{})
	spectest.NoErrors(t, problems)
	return specs
}

// write makes files under a new directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func request(name string) string {
	return "sequences: {" + name + ": {request: true, " + spectest.OneNode + "}}\n"
}

func loadNames(t *testing.T, dir string) []string {
	t.Helper()
	specs, problems, err := Load(dir, Options{})
	if err != nil || len(problems) > 0 {
		t.Fatalf("Load: %v\n%s", err, spectest.Show(problems))
	}
	return specs.Sequences.RequestTypes()
}

func TestLoadReadsEverySpecFile(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"a.yaml":         request("a") + "---\n" + request("b") + "---\n",
		"b.YML":          request("c"),
		"deep/er/c.Yaml": request("d"),
		"README.md":      "not: [a spec",
		"yaml":           "not: [a spec",
		"empty.yaml":     "",
		"comment.yaml":   "# nothing yet\n",
		"null.yaml":      "sequences:\n",
	})
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, loadNames(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestLoadNamesFilesRelativeToTheDirectory(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"z.yaml": "sequence: {}\n", "team/a.yaml": "\nsequence: {}\n"})
	specs, problems, err := Load(dir, Options{})
	if specs != nil || err != nil {
		t.Fatalf("Load: %v, %v", specs, err)
	}
	want := "team/a.yaml:2: error: unknown field `sequence`, did you mean `sequences`? (unknown-field)\n" +
		"z.yaml:1: error: unknown field `sequence`, did you mean `sequences`? (unknown-field)\n"
	if diff := cmp.Diff(want, spectest.Show(problems)); diff != "" {
		t.Error(diff)
	}
}

// dir/up -> dir, dir/a.yaml -> ..data/a.yaml, dir/..data -> dir/..1
func TestLoadFollowsLinksOnce(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"..1/a.yaml": request("a"), "sub/b.yaml": request("b")})
	for link, target := range map[string]string{
		"up": ".", "sub/up": "..", "..data": "..1", "a.yaml": "..data/a.yaml", "again": "sub", ".#b.yaml": "gone",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(dir, linked); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, loadNames(t, linked)); diff != "" {
		t.Error(diff)
	}
	specs, _, _ := Load(linked, Options{})
	if got := specs.Sequences["a"].File; got != "a.yaml" {
		t.Errorf("a mounted file is shown as %s, want the name that people know", got)
	}
}

// One file that cannot be read hides nothing that is wrong in the others.
func TestLoadReportsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.yaml": request("a"), "z.yaml": "sequence: {}\n"})
	for link, target := range map[string]string{"b.yaml": "gone", "c.yaml": "c.yaml", "d.yaml": "/dev/null", "old": "gone"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "e.yml"), 0o644); err != nil {
		t.Fatal(err)
	}
	specs, problems, err := Load(dir, Options{})
	if specs != nil || err != nil {
		t.Fatalf("Load: %v, %v", specs, err)
	}
	want := `b.yaml:1: error: cannot be read: no such file or directory (unreadable)
c.yaml:1: error: cannot be read: too many levels of symbolic links (unreadable)
d.yaml:1: error: cannot be read: it is not a regular file (unreadable)
e.yml:1: error: cannot be read: it is not a regular file (unreadable)
z.yaml:1: error: unknown field ` + "`sequence`, did you mean `sequences`? (unknown-field)\n"
	if diff := cmp.Diff(want, spectest.Show(problems)); diff != "" {
		t.Error(diff)
	}
}

func TestLoadReportsFilesWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := write(t, map[string]string{"a.yaml": request("a"), "sub/b.yaml": request("b")})
	for _, name := range []string{"a.yaml", "sub"} {
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "sub"), 0o755) })
	_, problems, err := Load(dir, Options{})
	want := "a.yaml:1: error: cannot be read: permission denied (unreadable)\nsub:1: error: cannot be read: permission denied (unreadable)\n"
	if diff := cmp.Diff(want, spectest.Show(problems)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestLoadFailsWithoutADirectory(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.yaml": request("a")})
	for _, name := range []string{"gone", "a.yaml"} {
		if specs, _, err := Load(filepath.Join(dir, name), Options{}); err == nil || specs != nil {
			t.Errorf("%s: Load gave %v, %v", name, specs, err)
		}
	}
}

// What is far too large is refused before it is looked at.
func TestHostileFilesAreRefusedQuickly(t *testing.T) {
	t.Parallel()
	bomb := "a0: &a0 [x, x]\n"
	for i := 1; i < 60; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	files := map[string]string{
		"bomb.yaml":   bomb,
		"large.yaml":  strings.Repeat("[", 5<<20),
		"nested.yaml": strings.Repeat("- ", 5000) + "x",
		"merge.yaml":  "a: &a {<<: *a}\n",
	}
	for name, text := range files {
		start := time.Now()
		specs, problems := Parse(map[string][]byte{name: []byte(text)}, Options{})
		if specs != nil || !problems.HasErrors() {
			t.Errorf("%s: Parse took it", name)
		}
		// A tenth of this is usual; a decoder that unfolds a bomb takes minutes.
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: refused after %s", name, took)
		}
	}
}

// A file in which everything is wrong is refused with a bounded list, soon.
func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("sequences:\n  s:\n    request: true\n    nodes:\n")
	for i := range 11_000 {
		fmt.Fprintf(&b, "      n%d: {category: job, type: noop, deps: [gone%d], args: [{expected: a%d}]}\n", i, i, i)
	}
	specs, problems := Parse(map[string][]byte{"a.yaml": []byte(b.String())}, Options{})
	if specs != nil || len(problems) != problem.Limit {
		t.Errorf("Parse found %d problems", len(problems))
	}
}

func TestParseOrdersNodes(t *testing.T) {
	t.Parallel()
	// c <- b <- a, d aside
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
	for _, n := range specs.Sequences["s"].Order {
		got = append(got, n.Name)
	}
	if want := "c b a d"; strings.Join(got, " ") != want {
		t.Errorf("order is %v, want %s", got, want)
	}
}

func TestWarn(t *testing.T) {
	t.Parallel()
	text := map[string][]byte{"a.yaml": []byte(spectest.Sequence(
		"owner: me",
		"nodes:",
		"  a: {category: job, type: noop, sets: [{arg: y}]}",
		"  b: {category: job, type: noop, sets: [{arg: y}]}",
		"  c: {category: job, type: noop, args: [{expected: y}], deps: [a, b]}"))}
	severities := func(o Options) (specs *Specs, errors, warnings []string) {
		specs, problems := Parse(text, o)
		for _, p := range problems {
			if p.Severity == problem.Error {
				errors = append(errors, p.Check)
			} else {
				warnings = append(warnings, p.Check)
			}
		}
		return specs, errors, warnings
	}
	specs, errors, _ := severities(Options{})
	if !slices.Equal(errors, []string{"unknown-field", "parallel-sets"}) || specs != nil {
		t.Errorf("without warn: errors %v", errors)
	}
	specs, errors, warnings := severities(Options{Warn: []string{"parallel-sets", "unknown-field"}})
	if specs == nil || len(errors) != 0 || !slices.Equal(warnings, []string{"unknown-field", "parallel-sets"}) {
		t.Errorf("with warn: errors %v, warnings %v", errors, warnings)
	}
	specs, errors, _ = severities(Options{Warn: []string{"name", "unknown-field", "parallel-sets"}})
	if specs != nil || !slices.Equal(errors, []string{"warn-option"}) {
		t.Errorf("a check that cannot warn: errors %v", errors)
	}
}

// All problems are found in one go, by file and line.
func TestProblemsComeSortedAndAllAtOnce(t *testing.T) {
	t.Parallel()
	_, problems := Parse(map[string][]byte{
		"b.yaml": []byte(spectest.Sequence("nodes:", "  a: {category: job, type: noop, retry: x, deps: [gone], args: [{expected: zz}]}", "  b:")),
		"a.yaml": []byte("sequences:\n  t: {request: maybe, nodes: {a: {category: sequence, type: S}}}\n"),
		"c.yaml": []byte("a: b: c\n"),
	}, Options{})
	var got []string
	for _, p := range problems {
		if p.Severity == problem.Error {
			got = append(got, p.File+" "+p.Check)
		}
	}
	want := []string{"a.yaml unknown-sequence", "a.yaml wrong-type", "b.yaml arg-not-set", "b.yaml unknown-dep", "b.yaml wrong-type", "b.yaml wrong-type", "c.yaml yaml"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, spectest.Show(problems))
	}
}
