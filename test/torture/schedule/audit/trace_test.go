package audit

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sec is a moment of these tests, in nanoseconds.
func sec(s float64) int64 { return int64(s * 1e9) }

// An instance that two members work on at once is found, whatever else happened to
// them; what a frozen member does within the bound is not held against it.
func TestCallsSideBySide(t *testing.T) {
	t.Parallel()
	const a, b = "m1.1", "m2.1"
	tests := []struct {
		name   string
		a, b   string // traces
		frozen []interval
		ended  int64 // of a; 0: it lives
		want   string
	}{
		{"one after the other", "B 1 x 1 1 run\nE 2 x\n", "B 3 x 1 2 run\nE 4 x\n", nil, 0, ""},
		{"side by side", "B 1 x 1 1 run\nE 4 x\n", "B 3 x 1 2 run\nE 5 x\n", nil, 0, "ran twice"},
		{"one in the other", "B 1 x 1 1 run\nE 9 x\n", "B 3 x 1 2 run\nE 5 x\n", nil, 0, "ran twice"},
		{"undo beside run", "B 1 x 1 1 run\nE 4 x\n", "B 3 x 1 2 undo\nE 5 x\n", nil, 0, "ran twice"},
		{"other instances", "B 1 x 1 1 run\nE 4 x\n", "B 3 x 2 2 run\nE 5 x\n", nil, 0, ""},
		{"frozen meanwhile", "B 1 x 1 1 run\nE 6.5 x\n", "B 3 x 1 2 run\nE 5 x\n", []interval{{sec(2), sec(6)}}, 0, ""},
		{"frozen, and goes on within the bound", "B 1 x 1 1 run\nE 6.5 x\n", "B 3 x 1 2 run\nE 9 x\n", []interval{{sec(2), sec(6)}}, 0, ""},
		{"frozen, and goes on for too long", "B 1 x 1 1 run\nE 8 x\n", "B 3 x 1 2 run\nE 9 x\n", []interval{{sec(2), sec(6)}}, 0, "ran twice"},
		{"frozen too late", "B 1 x 1 1 run\nE 9 x\n", "B 3 x 1 2 run\nE 9 x\n", []interval{{sec(4), sec(8.9)}}, 0, "ran twice"},
		{"frozen twice", "B 1 x 1 1 run\nE 9.5 x\n", "B 3 x 1 2 run\nE 9 x\n", []interval{{sec(2), sec(6)}, {sec(6.5), sec(9)}}, 0, ""},
		{"still frozen", "B 1 x 1 1 run\n", "B 3 x 1 2 run\nE 9 x\n", []interval{{sec(2), math.MaxInt64}}, 0, ""},
		{"never ends", "B 1 x 1 1 run\n", "B 3 x 1 2 run\nE 9 x\n", nil, 0, "ran twice"},
		{"killed before", "B 1 x 1 1 run\n", "B 3 x 1 2 run\nE 9 x\n", nil, sec(2), ""},
		{"killed too late", "B 1 x 1 1 run\n", "B 3 x 1 2 run\nE 9 x\n", nil, sec(4), "ran twice"},
		{"sequence goes back", "B 1 x 1 5 run\nE 2 x\n", "B 3 x 1 4 run\nE 4 x\n", nil, 0, "older sequence"},
		{"sequence stays", "B 1 x 1 5 run\nE 2 x\n", "B 3 x 1 5 run\nE 4 x\n", nil, 0, "older sequence"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeTrace(t, dir, a, tt.a)
			writeTrace(t, dir, b, tt.b)
			var found []string
			tr := newTrace(dir, time.Second, func(rule, _ string, _ ...any) { found = append(found, rule) })
			tr.frozen[a] = tt.frozen
			if tt.ended != 0 {
				tr.ended[a] = tt.ended
			}
			if err := tr.read(); err != nil {
				t.Fatal(err)
			}
			tr.check(sec(10))
			if all := strings.Join(found, ", "); (all == "") != (tt.want == "") || !strings.Contains(all, tt.want) {
				t.Errorf("found %q, want %q", all, tt.want)
			}
		})
	}
}

// writeTrace writes lines whose times are in seconds; every second line ends the call.
func writeTrace(t *testing.T, dir, process, lines string) {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(lines) {
		f := strings.Fields(line)
		d, err := time.ParseDuration(f[1] + "s")
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(f[0] + " " + strconv.FormatInt(int64(d), 10) + " 1 " + strings.Join(f[2:], " ") + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, process), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
