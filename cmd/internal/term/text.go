package term

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/treadle-run/treadle/proto"
)

// Clean makes s safe for one line of a terminal: text of jobs and users may have line
// ends, escape sequences, and characters that are invisible or change the direction of
// the text that follows.
func Clean(s string) string {
	if strings.IndexFunc(s, isUnsafe) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isUnsafe(r) {
			return ' '
		}
		return r
	}, s)
}

// CleanLines is Clean for a text of several lines: line ends and tabs stay.
func CleanLines(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && isUnsafe(r) {
			return ' '
		}
		return r
	}, b)
}

// isUnsafe reports whether a character is a control character or a format
// character, such as a zero-width or a bidirectional one.
func isUnsafe(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// Short cuts s to one line of at most n characters.
func Short(s string, n int) string {
	s = strings.TrimSpace(s)
	if line, _, more := strings.Cut(s, "\n"); more {
		s = line + " ..."
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}

// Dash stands for a cell without a value.
const Dash = "-"

// OrDash returns s, or Dash if there is none.
func OrDash(s string) string {
	if s == "" {
		return Dash
	}
	return s
}

// Value writes the value of an arg as text: a string as it is, others as JSON.
func Value(x any) string {
	if x == nil {
		return Dash
	}
	if s, ok := x.(string); ok && s == "" {
		return `""`
	}
	return proto.Text(x)
}

// Values writes several values with commas between them, safe for a terminal.
func Values(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = Clean(proto.Text(v))
	}
	return strings.Join(texts, ", ")
}

// Count writes a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Retry says how often something is tried again, and how long it waits: "3,
// every 5s", "3, after 5s x2 up to 1m0s".
func Retry(retry uint, wait proto.Duration, backoff float64, limit proto.Duration) string {
	switch {
	case retry == 0:
		return Dash
	case wait == 0:
		return fmt.Sprint(retry)
	case backoff == 0:
		return fmt.Sprintf("%d, every %s", retry, wait)
	case limit == 0:
		return fmt.Sprintf("%d, after %s x%g", retry, wait, backoff)
	}
	return fmt.Sprintf("%d, after %s x%g up to %s", retry, wait, backoff, limit)
}
