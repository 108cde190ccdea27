package grapher

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"github.com/treadle-run/treadle/proto"
)

// maxQuoted is the most bytes of a name or value that a message shows.
const maxQuoted = 100

// quote returns s in backticks, cut if it is long.
func quote(s string) string { return "`" + plain(s) + "`" }

// plain returns s fit for one line of a message: cut if it is long, escaped if it
// has control characters.
func plain(s string) string {
	if len(s) > maxQuoted {
		cut := maxQuoted
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "..."
	}
	for _, r := range s {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			q := strconv.Quote(s)
			return q[1 : len(q)-1]
		}
	}
	return s
}

// quoteAll lists names: a few of them if there are many.
func quoteAll(all []string) string {
	quoted := make([]string, len(all))
	for i, name := range all {
		quoted[i] = quote(name)
	}
	return proto.Names(quoted)
}

// suggester finds what a misspelt name was meant to be. What it may compare is
// bounded: specs that are wrong everywhere must not take long to refuse.
type suggester struct{ left int }

func newSuggester() *suggester { return &suggester{left: 500_000} }

// canCompare reports whether there is room for n candidates.
func (s *suggester) canCompare(n int) bool { return n <= s.left }

// meant returns ", did you mean `x`?" for the candidate nearest to name, and ""
// if none is near.
func (s *suggester) meant(name string, candidates []string) string {
	const longest = 150 // names are shorter; comparing costs the product of lengths
	if len(name) > longest || !s.canCompare(len(candidates)) {
		return ""
	}
	s.left -= len(candidates)
	best, bestDistance := "", min(3, (len(name)+2)/3)+1
	for _, c := range candidates {
		if c == "" || c == name || len(c) > longest || abs(len(c)-len(name)) >= bestDistance+utf8.UTFMax {
			continue
		}
		d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(c))
		if d >= utf8.RuneCountInString(name) {
			continue // nothing of it is left
		}
		if len(name) >= 3 && strings.HasPrefix(c, name) {
			d = 1 // cut short
		}
		if d < bestDistance || d == bestDistance && best != "" && c < best {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + quote(best) + "?"
}

func abs(n int) int { return max(n, -n) }
