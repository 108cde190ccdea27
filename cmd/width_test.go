package cmd

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Every verb that prints a table, as arguments.
var tables = []string{
	"find", "info " + id, "log " + id, "ps", "runners", "requests deploy",
	"apps", "app counter", "app run counter --period 2011-01-02-1300-counter", "periods counter", "blocked", "instances", "events counter",
	"schedule next counter", "schedule members",
}

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	for _, columns := range []string{"", "80", "120"} {
		limit := map[string]int{"": 80, "80": 80, "120": 120}[columns]
		for _, args := range tables {
			f := newFake(t)
			r := f.treadleWith(t.Context(), map[string]string{"TREADLE_ADDR": f.URL, "COLUMNS": columns}, "", strings.Fields(args)...)
			if r.code != 0 {
				t.Fatalf("%s: %s", args, r.stderr)
			}
			t.Logf("$ treadle %s (%s columns)\n%s%s", args, columns, r.stdout, r.stderr)
			for line := range strings.Lines(r.stdout) {
				if strings.HasPrefix(line, "treadle start ") {
					continue // a command to copy
				}
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > limit {
					t.Errorf("%s: a line of %d characters: %s", args, n, line)
				}
			}
		}
	}
}

// Whatever is left out of a narrow table is said, and can be had.
func TestWideOutputHasAllColumns(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	env := map[string]string{"TREADLE_ADDR": f.URL, "COLUMNS": "80"}
	narrow := f.treadleWith(t.Context(), env, "", "instances")
	has(t, "stderr", narrow.stderr, "columns omitted because the table is too wide: RUN, DUE", "--output wide shows all")
	wide := f.treadleWith(t.Context(), env, "", "instances", "--output", "wide")
	has(t, "stdout", squeezed(wide.stdout), "INSTANCE STATE RUN HOST DUE STARTED FINISHED REQUEST REASON")
	if n := strings.Count(wide.stdout, "\n"); n != 2 || wide.stderr != "" {
		t.Errorf("want a header and one row, got %d lines:\n%s%s", n, wide.stdout, wide.stderr)
	}
}
