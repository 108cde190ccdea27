package problem

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"github.com/treadle-run/treadle/proto"
)

// maxQuoted is the limit of bytes of a name or value that a message shows.
const maxQuoted = 100

// Quote returns s in backticks, cut if it is long.
func Quote(s string) string { return "`" + Plain(s) + "`" }

// Plain returns s fit for one line of a message: cut if it is long, escaped if it
// has control characters.
func Plain(s string) string {
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

// QuoteAll lists names: a few of them if there are many.
func QuoteAll(all []string) string {
	quoted := make([]string, len(all))
	for i, name := range all {
		quoted[i] = Quote(name)
	}
	return proto.Names(quoted)
}

// Suggester finds what a misspelt name was meant to be. What it may compare is
// bounded: specs that are wrong everywhere must not take long to refuse.
type Suggester struct{ left int }

// NewSuggester returns a suggester that has compared nothing yet.
func NewSuggester() *Suggester { return &Suggester{left: 500_000} }

// CanCompare reports whether there is room for n candidates.
func (s *Suggester) CanCompare(n int) bool { return n <= s.left }

// Meant returns ", did you mean `x`?" for the candidate nearest to name, and ""
// if none is near.
func (s *Suggester) Meant(name string, candidates []string) string {
	const longest = 150 // names are shorter; comparing costs the product of lengths
	if len(name) > longest || !s.CanCompare(len(candidates)) {
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
	return ", did you mean " + Quote(best) + "?"
}

// MeantBy returns ", did you mean it by `x`?" for the first of the names that is near
// to what is missing, and "" if none is.
func (s *Suggester) MeantBy(missing string, names []string) string {
	for _, name := range names {
		if s.Meant(name, []string{missing}) != "" {
			return ", did you mean it by " + Quote(name) + "?"
		}
	}
	return ""
}

func abs(n int) int { return max(n, -n) }
