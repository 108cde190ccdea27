package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/cmd/internal/verb"
)

// What cannot be done is said before anything is started.
func TestTortureScheduleRefusesBadInput(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "rm.yaml")
	writeFile(t, config, "sqlite: {path: "+filepath.Join(t.TempDir(), "t.db")+"}\n")
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	writeFile(t, empty, "log: {level: warn}\n")
	for _, tt := range []struct {
		args string
		want string
	}{
		{"--config " + empty, "mysql.dsn"},
		{"--config " + config + " --for 0s", "--for must be more than 0"},
		{"--config " + config + " --members 2", "--members must be 1 on SQLite"},
		{"--config " + config + " --jobs 0", "--jobs must be from 1"},
		{"--config " + config + " --scale 1ms", "--scale must be from 200ms"},
		{"--config " + config + " now", "too many arguments"},
	} {
		r := newFake(t).treadle(t, append([]string{"torture", "schedule"}, strings.Fields(tt.args)...)...)
		if r.code != verb.ExitUsage || !strings.Contains(r.stderr, tt.want) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", tt.args, r.code, r.stderr, verb.ExitUsage, tt.want)
		}
	}
}
