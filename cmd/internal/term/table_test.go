package term

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func now() time.Time { return time.Date(2026, 3, 1, 12, 2, 0, 0, time.UTC) }

// narrow is a table with a text, a time, a column that may go, and a reason.
func narrow(columns int, reason string) (stdout, stderr string) {
	var out, err bytes.Buffer
	o := &Out{Stdout: &out, Stderr: &err, Now: now, Columns: fmt.Sprint(columns)}
	t := o.Table("NAME", "RUN", "DUE", "REASON").Optional("RUN")
	t.Row("counter", 12, now().Add(-time.Hour), reason)
	if err := t.Flush(); err != nil {
		panic(err)
	}
	return out.String(), err.String()
}

func TestATableGetsNarrowerStepByStep(t *testing.T) {
	t.Parallel()
	const reason = "the request failed and was not tried again"
	full := now().Add(-time.Hour).Local().Format("2006-01-02 15:04:05 MST") + " (1h ago)"
	for _, tt := range []struct {
		columns int
		want    []string
	}{
		{100, []string{"NAME     RUN  DUE" + strings.Repeat(" ", len(full)-1) + "REASON", "counter  12   " + full + "  " + reason}},
		{80, []string{"NAME     RUN  DUE" + strings.Repeat(" ", len(full)-1) + "REASON", "counter  12   " + full + "  the request failed and was not",
			strings.Repeat(" ", 16+len(full)) + "tried again"}},
		{60, []string{"NAME     RUN  DUE     REASON", "counter  12   1h ago  the request failed and was not tried", "                      again"}},
		{40, []string{"NAME     RUN  DUE", "    REASON", "counter  12   1h ago", "    the request failed and was not tried", "    again"}},
		{18, []string{"NAME     DUE", "    REASON", "counter  1h ago", "    the request", "    failed and was", "    not tried", "    again"}},
	} {
		stdout, stderr := narrow(tt.columns, reason)
		if want := strings.Join(tt.want, "\n") + "\n"; stdout != want {
			t.Errorf("%d columns:\n%s\nwant:\n%s", tt.columns, stdout, want)
		}
		if left := strings.Contains(stderr, "RUN"); left != (tt.columns < 20) {
			t.Errorf("%d columns: %q", tt.columns, stderr)
		}
	}
}

func TestAColumnWithoutValuesIsNotPutBelow(t *testing.T) {
	t.Parallel()
	if stdout, _ := narrow(30, Dash); stdout != "NAME     RUN  DUE     REASON\ncounter  12   1h ago  -\n" {
		t.Errorf("it fits:\n%s", stdout)
	}
	if stdout, _ := narrow(22, Dash); stdout != "NAME     RUN  DUE\ncounter  12   1h ago\n" {
		t.Errorf("it does not fit:\n%s", stdout)
	}
}

// However narrow a table is, no word is lost or cut, and it fits if its words do.
func TestNoWordOfATableIsCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,12}`), 1, 20).Draw(t, "words")
		columns := rapid.IntRange(1, 120).Draw(t, "columns")
		stdout, _ := narrow(columns, strings.Join(words, " "))
		if got := strings.Fields(stdout); !strings.Contains(strings.Join(got, " ")+" ", " "+strings.Join(words, " ")+" ") {
			t.Fatalf("%q is not in\n%s", words, stdout)
		}
		for line := range strings.Lines(stdout) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); columns >= 40 && n > columns {
				t.Fatalf("%d columns, but %d characters: %s", columns, n, line)
			}
		}
	})
}
