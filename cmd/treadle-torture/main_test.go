package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/cmd/internal/verb"
)

// treadleTorture runs the program without the environment of the developer.
func treadleTorture(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	code = run(t.Context(), args, &out, &err, verb.Environment{})
	return code, out.String(), err.String()
}

// What cannot be done is said before anything is started.
func TestBadInputIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := write("rm.yaml", "sqlite: {path: "+filepath.Join(dir, "t.db")+"}\n")
	empty := write("empty.yaml", "log: {level: warn}\n")
	for _, tt := range []struct{ args, want string }{
		{"schedule --config " + empty, "mysql.dsn"},
		{"schedule --config " + config + " --for 0s", "--for must be more than 0"},
		{"schedule --config " + config + " --members 2", "--members must be 1 on SQLite"},
		{"schedule --db sqlite --members 2", "--members must be 1 on SQLite"},
		{"schedule --db oracle", `no database "oracle"`},
		{"schedule --config " + config + " --jobs 0", "--jobs must be from 1"},
		{"schedule --config " + config + " --scale 1ms", "--scale must be from 200ms"},
		{"schedule --config " + config + " now", "too many arguments"},
		{"requests now", "too many arguments"},
		{"requests --db oracle", `no database "oracle"`},
		{"requests --for -1s", "--for must be more than 0"},
		{"requests --jrs 0", "--jrs must be from 1"},
		{"requests --rate 0", "--rate must be more than 0"},
		{"requests --gap 0s", "--gap must be from 10ms"},
		{"requests --output xml", "expected text, wide or json"},
		{"apps", "unknown command"},
	} {
		code, _, stderr := treadleTorture(t, strings.Fields(tt.args)...)
		if code != verb.ExitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", tt.args, code, stderr, verb.ExitUsage, tt.want)
		}
	}
}

// The faults of a seed can be read before they are done.
func TestPlansArePrinted(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"requests --plan --for 20m":             "jr-kill",
		"schedule --plan --for 20m":             "member-kill",
		"schedule --plan --for 20m --db galera": "db3",
		"requests --plan --output json":         `"kind": "jr-kill"`,
	} {
		code, stdout, stderr := treadleTorture(t, strings.Fields(args)...)
		if code != verb.ExitOK || !strings.Contains(stdout, want) || stderr != "" {
			t.Errorf("%s: exit code %d, %q, %.300q; want %q in it", args, code, stderr, stdout, want)
		}
	}
}
