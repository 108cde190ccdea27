package builtin

import (
	"unicode/utf8"

	"github.com/treadle-run/treadle/internal/mask"
)

// maxOutput is how many bytes of stdout and of stderr a try keeps, each.
const maxOutput = 1 << 20

// markerSize is the room that is kept for the line that marks a gap.
const markerSize = 80

// capture keeps the head and the tail of what is written to it, in memory that
// is bounded however much that is.
type capture struct {
	half  int // capacity of head and of tail
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the next byte goes in a full tail: its oldest byte
	total int64  // bytes written, ever
}

// newCapture returns a capture of which Bytes gives at most limit bytes.
func newCapture(limit int) *capture { return &capture{half: (limit - markerSize) / 2} }

// Write keeps what there is room for, and never fails.
func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	if room := min(c.half-len(c.head), len(p)); room > 0 {
		c.head = append(c.head, p[:room]...)
		p = p[room:]
	}
	if len(p) > c.half {
		p = p[len(p)-c.half:]
	}
	if room := min(c.half-len(c.tail), len(p)); room > 0 {
		c.tail = append(c.tail, p[:room]...)
		p = p[room:]
	}
	for len(p) > 0 {
		k := copy(c.tail[c.next:], p)
		c.next = (c.next + k) % c.half
		p = p[k:]
	}
	return n, nil
}

// Bytes returns all that was written if it fits, else its head and tail with a
// line between them that says how many bytes are missing. No character of UTF-8
// text is cut in two.
func (c *capture) Bytes() []byte {
	tail := append(c.tail[c.next:len(c.tail):len(c.tail)], c.tail[:c.next]...)
	if int64(len(c.head)+len(tail)) == c.total {
		return append(c.head, tail...)
	}
	head := c.head[:len(c.head)-partialSuffix(c.head)]
	tail = tail[partialPrefix(tail):]
	missing := c.total - int64(len(head)) - int64(len(tail))
	out := make([]byte, 0, len(head)+markerSize+len(tail))
	out = append(out, head...)
	out = append(out, mask.CutNote(missing)...)
	return append(out, tail...)
}

// partialSuffix counts the bytes at the end of b that start a character of
// several bytes and do not end it.
func partialSuffix(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// partialPrefix counts the bytes at the start of b that go on with a character
// started before.
func partialPrefix(b []byte) int {
	n := 0
	for n < len(b) && n < utf8.UTFMax-1 && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}
