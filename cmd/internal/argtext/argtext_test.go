package argtext

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

var deploy = proto.RequestSpec{Name: "deploy", Args: []proto.RequestArg{
	{Name: "app", ValueType: "string"}, {Name: "count", ValueType: "int"}, {Name: "ratio", ValueType: "float"},
	{Name: "dry", ValueType: "bool"}, {Name: "hosts", ValueType: "list"}, {Name: "meta", ValueType: "object"}, {Name: "note"},
}}

func TestArgsAreReadAsTheSpecSays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		word string
		want proto.Values
		err  string
	}{
		{word: "app=shop", want: proto.Values{"app": "shop"}},
		{word: "app=12", want: proto.Values{"app": "12"}},
		{word: "app=", want: proto.Values{"app": ""}},
		{word: "app=a=b", want: proto.Values{"app": "a=b"}},
		{word: `note={"a": 1}`, want: proto.Values{"note": `{"a": 1}`}},
		{word: "unknown=5", want: proto.Values{"unknown": "5"}},
		{word: "unknown:=5", want: proto.Values{"unknown": int64(5)}},
		{word: `note:={"a": 1}`, want: proto.Values{"note": map[string]any{"a": int64(1)}}},
		{word: "note:=null", want: proto.Values{"note": nil}},
		{word: "count=9007199254740993", want: proto.Values{"count": int64(9007199254740993)}},
		{word: "ratio=1", want: proto.Values{"ratio": int64(1)}},
		{word: "ratio=1.5", want: proto.Values{"ratio": 1.5}},
		{word: "dry=true", want: proto.Values{"dry": true}},
		{word: `hosts=["a", 1]`, want: proto.Values{"hosts": []any{"a", int64(1)}}},
		{word: "hosts=a, b", want: proto.Values{"hosts": []any{"a", "b"}}},
		{word: "hosts=a,b,,c", want: proto.Values{"hosts": []any{"a", "b", "", "c"}}},
		{word: "hosts=a, b,", want: proto.Values{"hosts": []any{"a", "b", ""}}},
		{word: "hosts=,", want: proto.Values{"hosts": []any{"", ""}}},
		{word: "hosts=", want: proto.Values{"hosts": []any{}}},
		{word: `meta={"k": [true]}`, want: proto.Values{"meta": map[string]any{"k": []any{true}}}},

		{word: "ratio=1e30", want: proto.Values{"ratio": 1e30}},
		{word: "note:=18446744073709551615", want: proto.Values{"note": uint64(18446744073709551615)}},

		{word: "note:=18446744073709551616", err: "arg note: 18446744073709551616 is beyond 64 bits; only a string can hold it"},
		{word: "count=18446744073709551616", err: "arg count: 18446744073709551616 is beyond 64 bits; only a string can hold it"},
		{word: `meta={"a": [1, -9223372036854775809]}`, err: "arg meta: a[1]: -9223372036854775809 is beyond 64 bits; only a string can hold it"},
		{word: `note:={"a": 1, "b": {"x": 1, "x": 2}}`, err: `arg note: b: key "x" is given twice`},
		{word: "app", err: `"app" is not an arg: expected name=value or name:=JSON`},
		{word: "=x", err: `"=x" is not an arg: expected name=value or name:=JSON`},
		{word: "count=many", err: `arg count: "many" is not a whole number`},
		{word: "count=1.5", err: `arg count: "1.5" is not a whole number`},
		{word: "count=1 2", err: `arg count: "1 2" is not a whole number`},
		{word: "ratio=true", err: `arg ratio: "true" is not a number`},
		{word: "dry=yes", err: `arg dry: "yes" is not true or false`},
		{word: "hosts=[a]", err: `arg hosts: "[a]" is not a list: write a,b,c, or JSON such as ["a", "b"]`},
		{word: "meta=[1]", err: `arg meta: "[1]" is not an object: write JSON such as {"a": 1}`},
		{word: "note:=x", err: `arg note: "x" is not JSON; a string in JSON has quotes`},
	}
	for _, tt := range tests {
		got, err := Parse(deploy, []string{tt.word})
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: error %v, want %s", tt.word, err, tt.err)
			}
			continue
		}
		if d := cmp.Diff(tt.want, got); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", tt.word, err, d)
		}
	}
	if _, err := Parse(deploy, []string{"app=a", "app:=1"}); err == nil || err.Error() != "arg app is given twice" {
		t.Errorf("twice: %v", err)
	}
}
