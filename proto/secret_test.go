package proto_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

// What of a text that has secrets in it is left to see.
func TestMasker(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN KEY-----\nMIIEvQIBADANBg\nshort\n-----END KEY-----\n"
	for _, c := range []struct {
		name    string
		secrets []string
		text    string
		want    string
	}{
		{"none", nil, "as it is", "as it is"},
		{"empty", []string{""}, "as it is", "as it is"},
		{"whole and part", []string{"tiger"}, "tiger, tigers", "******, ******s"},
		{"one within the other", []string{"tiger", "white tiger"}, "a white tiger", "a ******"},
		{"all lines of a key", []string{key}, "it begins MIIEvQIBADANBg, and is short", "it begins ******, and is short"},
		{"cut in its head", []string{"correct horse"}, "it is correct ho" + proto.CutNote(7) + "end", "it is ******" + proto.CutNote(7) + "end"},
		{"cut in its tail", []string{"correct horse"}, "start" + proto.CutNote(7) + "ct horse is it", "start" + proto.CutNote(7) + "****** is it"},
		{"few letters at a cut", []string{"correct horse"}, "cor" + proto.CutNote(7) + "se", "cor" + proto.CutNote(7) + "se"},
		{"a cut without secrets near", []string{"correct horse"}, "a" + proto.CutNote(7) + "b", "a" + proto.CutNote(7) + "b"},
	} {
		m := proto.NewMasker(c.secrets)
		if got := string(m.Bytes([]byte(c.text))); got != c.want {
			t.Errorf("%s: bytes are %q, want %q", c.name, got, c.want)
		}
		if !strings.Contains(c.text, "missing here") {
			if got := m.Text(c.text); got != c.want {
				t.Errorf("%s: text is %q, want %q", c.name, got, c.want)
			}
		}
		if m.Has(c.text) != (len(c.secrets) > 0 && c.secrets[0] != "" && m.Text(c.text) != c.text) {
			t.Errorf("%s: Has is %v", c.name, m.Has(c.text))
		}
	}
}

func TestMaskerOfValues(t *testing.T) {
	t.Parallel()
	m := proto.NewMasker([]string{"tiger", "42"})
	in := proto.Values{"a": "my tiger", "n": int64(42), "m": int64(43), "l": []any{"tiger", nil, true}, "o": map[string]any{"tiger": "x"}}
	want := proto.Values{"a": "my ******", "n": "******", "m": int64(43), "l": []any{"******", nil, true}, "o": map[string]any{"******": "x"}}
	if d := cmp.Diff(want, m.Values(in)); d != "" {
		t.Error(d)
	}
	if in["a"] != "my tiger" {
		t.Error("the values that were given are changed")
	}
	for _, x := range []any{in, in["l"], int64(42), map[string]any{"k": []any{"tigers"}}} {
		if !m.Has(x) {
			t.Errorf("a secret in %v is not found", x)
		}
	}
	if m.Has(proto.Values{"m": int64(43)}) {
		t.Error("a secret is found where none is")
	}
}
