package mask

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/treadle-run/treadle/proto"
)

const (
	// minLine is the least length of a line of a secret that is masked alone.
	minLine = 8
	// minEncoded is the least length of what is found in hex and base64.
	minEncoded = 4
	// minEdge is the least length of a part of a secret that is masked where output
	// was cut.
	minEdge = 4
)

// Masker replaces secrets by proto.SecretMask. The zero Masker has none. It may be
// used by several goroutines at a time.
type Masker struct {
	find *automaton // nil if there are no secrets
}

// New returns a Masker for the texts of secret values.
func New(secrets []string) Masker {
	patterns := map[string]bool{}
	for _, s := range secrets {
		patterns[s] = true
		patterns[strings.TrimRight(s, "\r\n")] = true
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); len(line) >= minLine {
				patterns[line] = true
			}
		}
	}
	delete(patterns, "")
	if len(patterns) == 0 {
		return Masker{}
	}
	return Masker{find: newAutomaton(patterns)}
}

// Text returns s with every secret in it masked.
func (m Masker) Text(s string) string {
	if m.find == nil || s == "" {
		return s
	}
	found := m.spans([]byte(s), 0)
	if len(found) == 0 {
		return s
	}
	return string(masked([]byte(s), found))
}

// maxCuts is how many notes of cut output Bytes sees to: one is written, more are
// in the output of commands that show such output themselves.
const maxCuts = 4

// Bytes returns b with every secret in it masked, also one that was cut in two
// where output was too long (see CutNote).
func (m Masker) Bytes(b []byte) []byte {
	if m.find == nil || len(b) == 0 {
		return b
	}
	var out []byte
	start, edges := 0, edge(0)
	for _, at := range cutNote.FindAllIndex(b, maxCuts) {
		out = append(m.appendMasked(out, b[start:at[0]], edges|edgeEnd), b[at[0]:at[1]]...)
		start, edges = at[1], edgeStart
	}
	return m.appendMasked(out, b[start:], edges)
}

func (m Masker) appendMasked(to, b []byte, edges edge) []byte {
	return append(to, masked(b, m.spans(b, edges))...)
}

var cutNote = regexp.MustCompile(`\n\[treadle: \d+ bytes are missing here\]\n`)

// CutNote is what stands where the middle of long output was left out.
func CutNote(missing int64) string {
	return fmt.Sprintf("\n[treadle: %d bytes are missing here]\n", missing)
}

// Values returns a copy of v with every secret in it masked, at any depth; v
// itself if there are no secrets. Numbers and booleans that are secret as a whole
// are masked, too.
func (m Masker) Values(v proto.Values) proto.Values {
	if m.find == nil || v == nil {
		return v
	}
	return m.value(map[string]any(v)).(map[string]any)
}

func (m Masker) value(x any) any {
	switch x := x.(type) {
	case nil:
		return nil
	case string:
		return m.Text(x)
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = m.value(x[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, y := range x {
			out[m.Text(k)] = m.value(y)
		}
		return out
	}
	if m.is(proto.Text(x)) {
		return proto.SecretMask
	}
	return x
}

// is reports whether text is a secret as a whole.
func (m Masker) is(text string) bool {
	node := int32(0)
	for i := range len(text) {
		if node = m.find.child(node, text[i]); node == 0 {
			return false
		}
	}
	return text != "" && int(m.find.found[node]) == len(text)
}

// Has reports whether a secret is in x, at any depth.
func (m Masker) Has(x any) bool {
	if m.find == nil {
		return false
	}
	switch x := x.(type) {
	case nil:
		return false
	case string:
		return len(m.spans([]byte(x), 0)) > 0
	case []any:
		for _, y := range x {
			if m.Has(y) {
				return true
			}
		}
		return false
	case proto.Values:
		return m.Has(map[string]any(x))
	case map[string]any:
		for k, y := range x {
			if m.Has(k) || m.Has(y) {
				return true
			}
		}
		return false
	}
	return m.is(proto.Text(x))
}

// masked returns s with what was found in it replaced.
func masked(s []byte, found []span) []byte {
	if len(found) == 0 {
		return s
	}
	out, from := make([]byte, 0, len(s)), 0
	for _, f := range found {
		out = append(append(out, s[from:f.start]...), proto.SecretMask...)
		from = f.end
	}
	return append(out, s[from:]...)
}
