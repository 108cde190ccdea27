package builtin

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCaptureKeepsAllThatFits(t *testing.T) {
	t.Parallel()
	c := newCapture(1000)
	all := strings.Repeat("0123456789", 92) // both halves
	for _, part := range strings.SplitAfter(all, "7") {
		_, _ = c.Write([]byte(part))
	}
	if got := string(c.Bytes()); got != all {
		t.Errorf("got %q", got)
	}
}

func TestCaptureKeepsHeadAndTailOfMore(t *testing.T) {
	t.Parallel()
	c := newCapture(markerSize + 20)
	_, _ = c.Write([]byte("the beginning, the middle, the end"))
	if got, want := string(c.Bytes()), "the beginn\n[treadle: 14 bytes are missing here]\ne, the end"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCaptureCutsNoCharacter(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		c := newCapture(markerSize + 40)
		_, _ = c.Write([]byte(strings.Repeat("x", shift) + strings.Repeat("日本🙂é", 50)))
		if b := c.Bytes(); !utf8.Valid(b) {
			t.Errorf("shifted by %d: %q", shift, b)
		}
	}
}

// However output is written: what is kept is its head and its tail, what is
// missing is counted, and the limit holds.
func TestCaptureProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(markerSize+2, markerSize+64).Draw(t, "limit")
		parts := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 100)).Draw(t, "parts")
		c := newCapture(limit)
		for _, p := range parts {
			_, _ = c.Write(bytes.Clone(p))
		}
		all := bytes.Join(parts, nil)
		got := c.Bytes()
		if len(got) > limit {
			t.Fatalf("%d bytes kept, the limit is %d", len(got), limit)
		}
		if bytes.Equal(got, all) {
			return
		}
		for n := range len(all) + 1 {
			marker := fmt.Appendf(nil, "\n[treadle: %d bytes are missing here]\n", n)
			head, tail, ok := bytes.Cut(got, marker)
			if ok && bytes.HasPrefix(all, head) && bytes.HasSuffix(all, tail) && len(head)+n+len(tail) == len(all) {
				return
			}
		}
		t.Fatalf("%q is no head and tail of %q", got, all)
	})
}
