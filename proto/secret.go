package proto

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Masker replaces the values of secret args by SecretMask. The zero Masker has
// no secrets.
type Masker struct {
	secrets []string
	replace *strings.Replacer
}

// minSecretLine is the least length of a line of a secret that is masked alone:
// shorter ones are no secret, such as the braces of a JSON key file.
const minSecretLine = 8

// minSecretEdge is the least length of a part of a secret that is masked where
// output was cut.
const minSecretEdge = 4

// NewMasker returns a Masker for the texts of secret values. Of a secret of
// several lines, such as a private key, each line is masked, too.
func NewMasker(secrets []string) Masker {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return s == "" })
	for _, s := range slices.Clone(secrets) {
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); len(line) >= minSecretLine && len(line) < len(s) {
				secrets = append(secrets, line)
			}
		}
	}
	if len(secrets) == 0 {
		return Masker{}
	}
	// The longest first: one secret may be part of another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets {
		pairs = append(pairs, s, SecretMask)
	}
	return Masker{secrets: secrets, replace: strings.NewReplacer(pairs...)}
}

// Text returns s with every secret in it masked.
func (m Masker) Text(s string) string {
	if m.replace == nil {
		return s
	}
	return m.replace.Replace(s)
}

// Bytes returns b with every secret in it masked, also one that was cut in two
// where output was too long (see CutNote).
func (m Masker) Bytes(b []byte) []byte {
	if m.replace == nil {
		return b
	}
	for _, s := range m.secrets {
		b = bytes.ReplaceAll(b, []byte(s), []byte(SecretMask))
	}
	at := cutNote.FindIndex(b)
	if at == nil {
		return b
	}
	head, note, tail := b[:at[0]], b[at[0]:at[1]], b[at[1]:]
	for _, s := range m.secrets {
		for n := len(s) - 1; n >= minSecretEdge; n-- {
			if cut, ok := bytes.CutSuffix(head, []byte(s[:n])); ok {
				head = append(slices.Clip(cut), SecretMask...)
				break
			}
		}
		for n := len(s) - 1; n >= minSecretEdge; n-- {
			if cut, ok := bytes.CutPrefix(tail, []byte(s[len(s)-n:])); ok {
				tail = append([]byte(SecretMask), cut...)
				break
			}
		}
	}
	return slices.Concat(head, note, tail)
}

var cutNote = regexp.MustCompile(`\n\[treadle: \d+ bytes are missing here\]\n`)

// CutNote is what stands where the middle of long output was left out.
func CutNote(missing int64) string {
	return fmt.Sprintf("\n[treadle: %d bytes are missing here]\n", missing)
}

// Values returns a copy of v with every secret in it masked, at any depth; v
// itself if there are no secrets. Numbers and booleans that are secret as a whole
// are masked, too.
func (m Masker) Values(v Values) Values {
	if m.replace == nil || v == nil {
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
	if slices.Contains(m.secrets, Text(x)) {
		return SecretMask
	}
	return x
}

// Has reports whether a secret is in x, at any depth.
func (m Masker) Has(x any) bool {
	if m.replace == nil {
		return false
	}
	switch x := x.(type) {
	case nil:
		return false
	case string:
		return slices.ContainsFunc(m.secrets, func(s string) bool { return strings.Contains(x, s) })
	case []any:
		return slices.ContainsFunc(x, m.Has)
	case Values:
		return m.Has(map[string]any(x))
	case map[string]any:
		for k, y := range x {
			if m.Has(k) || m.Has(y) {
				return true
			}
		}
		return false
	}
	return slices.Contains(m.secrets, Text(x))
}
