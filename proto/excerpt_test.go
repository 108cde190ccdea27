package proto_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/treadle-run/treadle/proto"
)

// What a caller sent does not come back in full, and what is of use to read does.
func TestMessagesAreNotTooLong(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("word ", 200_000)
	var args []string
	for range 100 {
		args = append(args, "arg some_name: expected a whole number, got \""+strings.Repeat("x", 60)+"\"")
	}
	lines := strings.Repeat("a line\n", 100)
	for name, c := range map[string]struct {
		message string
		limit   int
		says    string
	}{
		"short":         {"arg n: expected an int", 22, "arg n: expected an int"},
		"a long number": {"n: number " + strings.Repeat("9", 900_000) + " is out of range", 200, " is out of range"},
		"a long value":  {"type: expected a name, got \"" + strings.Repeat("\u00e4", 1000) + "\"", 200, "(2002 bytes)"},
		"a long text":   {"s: got " + text, 17 << 10, "s: got word word"},
		"many args":     {strings.Join(args, "; "), 12 << 10, args[99]},
		"lines":         {lines, len(lines), lines},
	} {
		got := proto.Body(proto.Errorf(proto.CodeInvalid, "%s", c.message)).Message
		if len(got) > c.limit || !strings.Contains(got, c.says) || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes: %.300q", name, len(got), got)
		}
	}
	if got := proto.Body(errors.New(text)).Message; got != "internal error" {
		t.Errorf("an error of ours is shown as %q", got)
	}
}
