package exactjson

import (
	"fmt"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": 1, "b": {"a": 2}, "c": [{"a": 1}, {"a": 1}]}`: "<nil>",
		`{"a": 1, "A": 2, "": 3}`:                            "<nil>",
		`[["a"], "a", "a", {}, []]`:                          "<nil>",
		`-9223372036854775808`:                               "<nil>",
		`18446744073709551615`:                               "<nil>",
		`[1e30, 1.5, 12345678901234567890123.0]`:             "<nil>",
		`{"a": `:                                             "<nil>",
		`}`:                                                  "<nil>",
		`{"a": 1, "a": 1}`:                                   `key "a" is given twice`,
		`{"a": {"a": 1}, "a": null}`:                         `key "a" is given twice`,
		`{"a": 1, "\u0061": 1}`:                              `key "a" is given twice`,
		`{"x": [0, {"y": {"b": 1, "c": [], "b": 2}}]}`:       `x[1].y: key "b" is given twice`,
		`18446744073709551616`:                               `18446744073709551616 is beyond 64 bits; only a string can hold it`,
		`-9223372036854775809`:                               `-9223372036854775809 is beyond 64 bits; only a string can hold it`,
		`{"x": [[], {"n": 99999999999999999999}]}`:           `x[1].n: 99999999999999999999 is beyond 64 bits; only a string can hold it`,
		`[1, 2, ` + strings.Repeat("9", 900_000) + `]`:       `[2]: ` + strings.Repeat("9", 40) + `... is beyond 64 bits; only a string can hold it`,
	} {
		if got := fmt.Sprint(Check([]byte(text))); got != want {
			t.Errorf("%.60s: %s, want %s", text, got, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"x": [0, {"y": {"b": 1, "c": [], "b": 2}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := Check(b); err != nil && len(err.Error()) > len(b)*8+200 {
			t.Errorf("an error of %d bytes about %d", len(err.Error()), len(b))
		}
	})
}
