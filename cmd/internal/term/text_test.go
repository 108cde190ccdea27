package term

import (
	"bytes"
	"testing"
	"time"
)

func TestTextOfOthersIsSafeForATerminal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, line, lines string }{
		"plain":           {"naïve 日本", "naïve 日本", "naïve 日本"},
		"escape sequence": {"a\x1b[31mb", "a [31mb", "a [31mb"},
		"C1 control":      {"a\u009b31mb", "a 31mb", "a 31mb"},
		"line end":        {"a\nb\tc\r", "a b c ", "a\nb\tc "},
		"bidirectional":   {"a\u202eb\u2066c", "a b c", "a b c"},
		"zero width":      {"a\u200bb\u200dc\ufeff", "a b c ", "a b c "},
	} {
		if got := Clean(tt.text); got != tt.line {
			t.Errorf("%s: Clean gives %q, want %q", name, got, tt.line)
		}
		if got := CleanLines([]byte(tt.text)); string(got) != tt.lines {
			t.Errorf("%s: CleanLines gives %q, want %q", name, got, tt.lines)
		}
	}
	var stdout bytes.Buffer
	table := (&Out{Stdout: &stdout, Now: time.Now}).Table("A", "B")
	table.Row("\x1b]0;title\a", "x\ty")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := stdout.String(), "A           B\n ]0;title   x y\n"; got != want {
		t.Errorf("a table prints %q, want %q", got, want)
	}
}
