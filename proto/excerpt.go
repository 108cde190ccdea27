package proto

import (
	"fmt"
	"strings"
)

// maxExcerpt is how many bytes of a text a message repeats.
const maxExcerpt = 60

// Excerpt returns a text for a message: whole if it is short, else its start and
// how long it is. What a caller sent is never sent back in full.
func Excerpt(s string) string { return excerpt(s, maxExcerpt) }

func excerpt(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(s[:limit], ""), len(s))
}

// The limits of a message that is shown to a user.
const (
	maxMessage = 16 << 10
	maxWord    = 400
)

// excerptMessage cuts a message that repeats more than a user can read: words, such
// as a number of a million digits, and the whole.
func excerptMessage(s string) string {
	if len(s) <= maxWord {
		return s
	}
	var out strings.Builder
	for len(s) > 0 && out.Len() <= maxMessage {
		word, rest := s, ""
		if i := strings.IndexAny(s, " \n"); i >= 0 {
			word, rest = s[:i+1], s[i+1:]
		}
		if len(word) > maxWord {
			word = excerpt(word, maxExcerpt) + " "
		}
		out.WriteString(word)
		s = rest
	}
	if len(s) > 0 {
		out.WriteString("...")
	}
	return strings.TrimSuffix(out.String(), " ")
}
