package mask_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/proto"
)

const key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nshort\n-----END KEY-----\n"

// What of a text that has secrets in it is left to see.
func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		secrets []string
		text    string
		want    string
	}{
		{"no secrets", nil, "as it is", "as it is"},
		{"an empty secret", []string{""}, "as it is", "as it is"},
		{"only newlines", []string{"\r\n"}, "as\nit is", "as\nit is"},
		{"whole and part", []string{"tiger"}, "tiger, tigers", "******, ******s"},
		{"one within the other", []string{"tiger", "white tiger"}, "a white tiger", "a ******"},
		{"one overlaps the other", []string{"white tiger", "tiger cage"}, "a white tiger cage", "a ******"},
		{"one overlaps itself", []string{"abab"}, "xabababx", "x******x"},
		{"one after the other", []string{"tiger"}, "tigertiger", "************"},
		{"a shorter one that starts later", []string{"abcd", "bcdefgh", "cde"}, "abcdefg", "******fg"},
		{"all lines of a key", []string{key}, "it begins MIIEvQIBADANBg, and is short", "it begins ******, and is short"},
		{"a whole key", []string{key}, "it is\n" + key + "that", "it is\n******that"},
		{"lines of Windows", []string{key}, "it is\n" + strings.ReplaceAll(key, "\n", "\r\n"), "it is\n******\r\n******\r\nshort\r\n******\r\n"},
		{"a newline at its end", []string{"cat\n"}, "the cat, cat\nsat", "the ******, ******sat"},
		{"newlines of Windows at its end", []string{"cat\r\n"}, "the cat sat", "the ****** sat"},
		{"in JSON", []string{`pass"word\1`}, `{"a": "pass\"word\\1"}`, `{"a": "******"}`},
		{"in JSON, escaped for HTML", []string{"a<b>&c"}, `["a\u003cb\u003e\u0026c"]`, `["******"]`},
		{"in JSON, ASCII only", []string{"clé 😀"}, `["cl\u00e9 \ud83d\ude00"]`, `["******"]`},
		{"quoted by Go", []string{"a\x07b\x00é\u2028"}, strconv.QuoteToASCII("x a\x07b\x00é\u2028."), `"x ******."`},
		{"quoted by a shell", []string{"pa$$ 'word'"}, `pa\$\$\ \'word\'`, "******"},
		{"a broken escape", []string{"tiger"}, `\u12 \x \ud83d \`, `\u12 \x \ud83d \`},
		{"in a URL", []string{"p@ss/wörd"}, "https://u:" + url.PathEscape("p@ss/wörd") + "@h", "https://u:******@h"},
		{"in a URL, small digits", []string{"p@ss/w"}, "https://u:p%40ss%2fw@h", "https://u:******@h"},
		{"in a form", []string{"a b+c"}, "k=" + url.QueryEscape("a b+c") + "&l=1+1", "k=******&l=1+1"},
		{"in a form without percents", []string{"white tiger"}, "k=white+tiger", "k=******"},
		{"a broken percent", []string{"tiger"}, "100% of %4 and %zz", "100% of %4 and %zz"},
		{"in hex", []string{"tiger"}, "0x" + hex.EncodeToString([]byte("tiger")) + " " + strings.ToUpper(hex.EncodeToString([]byte("a tiger"))), "0x****** 6120******"},
		{"in hex, in lines", []string{"a white tiger"}, "61207768697465\n207469676572\n", "******\n"},
		{"in base64", []string{"tiger"}, "dGlnZXI= dGlnZXI", "****** ******"},
		{"in base64 after a name", []string{"tiger"}, "Basic " + base64.StdEncoding.EncodeToString([]byte("me:tiger!")), "Basic bWU6******h"},
		{"in base64 in lines", []string{key + key}, base64Lines(key + key), "******\n"},
		{"in base64, too short to be told", []string{"cat"}, base64.StdEncoding.EncodeToString([]byte("cat")), "Y2F0"},
	} {
		m := mask.New(c.secrets)
		if got := m.Text(c.text); got != c.want {
			t.Errorf("%s: text is %q, want %q", c.name, got, c.want)
		}
		if got := string(m.Bytes([]byte(c.text))); got != c.want {
			t.Errorf("%s: bytes are %q, want %q", c.name, got, c.want)
		}
		if m.Has(c.text) != (c.text != c.want) {
			t.Errorf("%s: Has is %v", c.name, m.Has(c.text))
		}
	}
}

// base64Lines is what the command base64 writes.
func base64Lines(s string) string {
	var lines strings.Builder
	for encoded := base64.StdEncoding.EncodeToString([]byte(s)); encoded != ""; {
		n := min(76, len(encoded))
		lines.WriteString(encoded[:n] + "\n")
		encoded = encoded[n:]
	}
	return lines.String()
}

// Where output was too long, a secret may have been cut in two.
func TestBytesOfCutOutput(t *testing.T) {
	t.Parallel()
	note := mask.CutNote(7)
	for _, c := range []struct {
		name string
		text string
		want string
	}{
		{"in its head", "it is correct ho" + note + "end", "it is ******" + note + "end"},
		{"in its tail", "start" + note + "ct horse is it", "start" + note + "****** is it"},
		{"on both sides", "correct " + note + "t horse", "******" + note + "******"},
		{"few letters", "cor" + note + "se", "cor" + note + "se"},
		{"no secrets near", "a" + note + "b", "a" + note + "b"},
		{"a whole one beside", "correct horse" + note + "correct horse", "******" + note + "******"},
		{"nothing beside", note, note},
		{"twice", "correct h" + note + "x correct h" + note + "ct horse", "******" + note + "x ******" + note + "******"},
		{"in hex", "x" + hex.EncodeToString([]byte("correct ho"))[:19] + note + hex.EncodeToString([]byte("ct horse"))[1:], "x******" + note + "******"},
		{"in base64", base64.StdEncoding.EncodeToString([]byte("is correct horse"))[:15] + note + base64.StdEncoding.EncodeToString([]byte("rect horse is"))[1:], "aXMg******" + note + "******Bpcw=="},
		{"longer than the secret", "it is correct correct" + note + strings.Repeat("horse", 9), "it is correct ******" + note + "******" + strings.Repeat("horse", 8)},
	} {
		if got := string(mask.New([]string{"correct horse"}).Bytes([]byte(c.text))); got != c.want {
			t.Errorf("%s: it is %q, want %q", c.name, got, c.want)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	m := mask.New([]string{"tiger", "42", "true"})
	in := proto.Values{"a": "my tiger", "n": int64(42), "m": int64(43), "l": []any{"tiger", nil, true, false}, "o": map[string]any{"tiger": "x"}}
	want := proto.Values{"a": "my ******", "n": "******", "m": int64(43), "l": []any{"******", nil, "******", false}, "o": map[string]any{"******": "x"}}
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
	for _, x := range []any{proto.Values{"m": int64(43)}, 142, nil, []any{}, ""} {
		if m.Has(x) {
			t.Errorf("a secret is found in %v", x)
		}
	}
	if got := (mask.Masker{}).Values(in); cmp.Diff(in, got) != "" {
		t.Errorf("without secrets, values are %v", got)
	}
}

// Of letters that no encoding makes of each other, exactly what stands in a secret
// that stands in the text is masked.
func TestTextIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,12}`), 1, 8).Draw(t, "secrets")
		text := rapid.StringMatching(`[abc]{0,80}`).Draw(t, "text")
		if got, want := mask.New(secrets).Text(text), slowText(secrets, text); got != want {
			t.Fatalf("the text is %q, want %q", got, want)
		}
	})
}

// slowText masks in the way that is slow and plain to see.
func slowText(secrets []string, text string) string {
	in, joined := make([]bool, len(text)), make([]bool, len(text))
	for _, s := range secrets {
		for i := range len(text) - len(s) + 1 {
			if text[i:i+len(s)] != s {
				continue
			}
			for n := i; n < i+len(s); n++ {
				in[n] = true
				joined[n] = joined[n] || n > i // with the byte before it
			}
		}
	}
	var out strings.Builder
	for i := range len(text) {
		switch {
		case !in[i]:
			out.WriteByte(text[i])
		case !joined[i]:
			out.WriteString(proto.SecretMask)
		}
	}
	return out.String()
}

// encodings are the forms in which secrets are masked, too.
var encodings = map[string]func(string) string{
	"none":             func(s string) string { return s },
	"json":             jsonOf,
	"go":               strconv.Quote,
	"path":             url.PathEscape,
	"query":            url.QueryEscape,
	"hex":              func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":              func(s string) string { return fmt.Sprintf("%X", s) },
	"base64":           func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 of URLs":   func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"base64, raw":      func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"base64 raw, URLs": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"base64 in lines":  base64Lines,
}

func jsonOf(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// However a text with a secret is encoded, it cannot be decoded to have the secret,
// and what is far from the secret is still there.
func TestTextOfEncoded(t *testing.T) {
	t.Parallel()
	for name, encode := range encodings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				secret := rapid.StringOfN(rapid.Rune(), 4, 40, -1).Filter(func(s string) bool {
					return strings.TrimRight(s, "\r\n") == s && !strings.Contains(s, "******")
				}).Draw(t, "secret")
				before := rapid.StringMatching(`[a-z .:]{0,9}`).Draw(t, "before")
				after := rapid.StringMatching(`[a-z .:]{0,9}`).Draw(t, "after")
				m := mask.New([]string{secret})
				got := m.Text("start; " + encode(before+secret+after) + " ;end")
				if !strings.Contains(got, proto.SecretMask) || strings.Contains(got, encode(secret)) {
					t.Fatalf("the text is %q", got)
				}
				if !strings.HasPrefix(got, "start; ") || !strings.HasSuffix(got, ";end") && !strings.HasSuffix(secret, " ;end") {
					t.Fatalf("of what is around it, too much is masked: %q", got)
				}
				if m.Has(got) {
					t.Fatalf("the secret is still in %q", got)
				}
			})
		})
	}
}

func FuzzMasker(f *testing.F) {
	f.Add("tiger", "white tiger", "a white tiger")
	f.Add("a\n", "aaaa", `\u0061%61`+mask.CutNote(3)+"YWFhYQ==")
	f.Add(key, "\\", `-----BEGIN KEY-----\nMIIEvQIBADANBg`)
	f.Fuzz(func(t *testing.T, a, b, text string) {
		m := mask.New([]string{a, b})
		got := m.Text(text)
		// Nothing else tells that secrets are found in the text as it is.
		for _, s := range []string{a, b} {
			if s != "" && strings.Contains(text, s) && !strings.Contains(got, proto.SecretMask) {
				t.Errorf("%q is not masked in %q: %q", s, text, got)
			}
		}
		if m.Has(text) != (got != text) && text != proto.SecretMask {
			t.Errorf("Has of %q is %v, and the text becomes %q", text, m.Has(text), got)
		}
		if !strings.Contains(text, "[treadle:") && string(m.Bytes([]byte(text))) != got {
			t.Errorf("bytes of %q are not its text %q", text, got)
		}
		m.Bytes([]byte(text))
	})
}

// The time for each byte does not grow with the size, whatever the secrets look
// like: compare the figures of one shape.
func BenchmarkMasker(b *testing.B) {
	shapes := map[string]func(size int) (secrets []string, text string){
		"one-letter": func(n int) ([]string, string) {
			return []string{strings.Repeat("a", n)}, strings.Repeat("a", n-1) + "b"
		},
		"nested": func(n int) (secrets []string, text string) {
			for length, total := 1, 0; total < n; length++ {
				secrets = append(secrets, strings.Repeat("a", length))
				total += length
			}
			return secrets, strings.Repeat("a", n)
		},
		"lines": func(n int) ([]string, string) {
			var key, text strings.Builder
			for i := 0; key.Len() < n; i++ {
				fmt.Fprintf(&key, "line %08d of it\n", i)
				fmt.Fprintf(&text, "line %07d of it\n", i)
			}
			return []string{key.String()}, text.String()
		},
		"base64": func(n int) ([]string, string) {
			return []string{strings.Repeat("a", n)}, base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", n-1)))
		},
		"log": func(n int) ([]string, string) {
			return []string{"correct horse battery staple"}, strings.Repeat(`time=2026-03-01T12:00:00Z level=INFO msg="it is done" n=1`+"\n", n/57)
		},
	}
	for name, shape := range shapes {
		for _, size := range []int{20 << 10, 80 << 10, 320 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%dK", name, size>>10), func(b *testing.B) {
				secrets, text := shape(size)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					m := mask.New(secrets)
					m.Text(text)
					m.Bytes([]byte(text + mask.CutNote(1) + text))
				}
			})
		}
	}
}
