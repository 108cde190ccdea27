package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/cmd/internal/tools"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/job/builtin"
)

func TestJobTypesShowsWhatIsDeclared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		want []string // in the output, with columns one space apart
	}{
		{"job-types", []string{"TYPE ARGS WHAT IT DOES", "command argv [dir] [grace] ... Runs a program", "noop ... Does nothing and succeeds.", "sleep duration Waits."}},
		{"job-types shell", []string{"type shell", "may run twice depends on what it runs", "other args are variables of the environment", "ARG TYPE GIVEN WHAT IT IS",
			"script string required the script", `grace duration default "10s" how long`}},
		{"job-types fail", []string{"may run twice yes", "other args are refused", "times int, at least 0 optional how many tries fail"}},
		{"job-types split", []string{`separator string default "," what stands between`, "list list set by the job the list of strings"}},
	} {
		r := newFake(t).treadle(t, strings.Fields(tt.args)...)
		if r.code != 0 {
			t.Errorf("%s: exit code %d: %s", tt.args, r.code, r.stderr)
		}
		has(t, tt.args, squeezed(r.stdout), tt.want...)
	}
	r := newFake(t).treadle(t, "job-types", "shel")
	if r.code != 2 || !strings.Contains(r.stderr, `unknown job type "shel", did you mean shell?`) {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}

func TestJobTypesAsJSON(t *testing.T) {
	t.Parallel()
	var all []struct {
		Type, Doc, Repeat, Others string
		Args                      []job.Arg
	}
	if err := json.Unmarshal([]byte(newFake(t).treadle(t, "job-types", "--output", "json").stdout), &all); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range all {
		names = append(names, x.Type)
		if x.Doc == "" || x.Repeat == "" {
			t.Errorf("%s says nothing of itself: %+v", x.Type, x)
		}
	}
	if diff := cmp.Diff(builtin.Registry().Types(), names); diff != "" {
		t.Error(diff)
	}
	var one map[string]any
	if err := json.Unmarshal([]byte(newFake(t).treadle(t, "job-types", "sleep", "--output", "json").stdout), &one); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"type": "sleep", "doc": "Waits.", "repeat": "safe", "args": []any{
		map[string]any{"name": "duration", "type": "duration", "required": true, "doc": "how long, such as `1.5s` or `10m`"}}}
	if diff := cmp.Diff(want, one); diff != "" {
		t.Error(diff)
	}
}

// argsTable is the table of the page for one job type.
func argsTable(d *job.Declaration) string {
	var b strings.Builder
	b.WriteString("| arg | type | | |\n|---|---|---|---|\n")
	for i := range d.Args {
		a := &d.Args[i]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", a.Name, a.TypeText(), a.GivenText(), a.Doc)
	}
	for i := range d.Sets {
		a := &d.Sets[i]
		fmt.Fprintf(&b, "| `%s` | %s | set by the job | %s |\n", a.Name, a.TypeText(), a.Doc)
	}
	if d.Others != "" {
		fmt.Fprintf(&b, "| any others | any | optional | %s |\n", d.Others)
	}
	b.WriteString("\nMay run twice: " + tools.MayRunTwice(d.Repeat) + ".\n")
	return b.String()
}

// With UPDATE_DOCS=1 in the environment, it writes the tables.
func TestJobsPageHasTheArgsOfEveryType(t *testing.T) {
	t.Parallel()
	const file = "../docs/jobs.md"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	types := builtin.Registry()
	for _, name := range types.Types() {
		d, ok := types.Declaration(name)
		if !ok {
			t.Errorf("job type %s declares nothing", name)
			continue
		}
		start := "<!-- args of " + name + ": a test compares this table with the program -->\n"
		before, rest, found := strings.Cut(page, start)
		table, after, ended := strings.Cut(rest, "<!-- end of args -->")
		if !found || !ended {
			t.Errorf("docs/jobs.md has no table of the args of %s", name)
			continue
		}
		if !strings.HasSuffix(before, "\n"+d.Doc+"\n\n") {
			t.Errorf("docs/jobs.md does not say of %s what the declaration says: %s", name, d.Doc)
		}
		if want := argsTable(d); table != want {
			if os.Getenv("UPDATE_DOCS") == "" {
				t.Errorf("the args of %s in docs/jobs.md should be (UPDATE_DOCS=1 go test ./cmd -run JobsPage writes them)\n%s", name, want)
			}
			page = before + start + want + "<!-- end of args -->" + after
		}
	}
	if os.Getenv("UPDATE_DOCS") != "" && page != string(b) {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
