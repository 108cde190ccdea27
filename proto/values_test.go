package proto_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/treadle-run/treadle/proto"
)

// The types of values survive JSON, as often as they go through it.
func TestValuesKeepTheirTypes(t *testing.T) {
	t.Parallel()
	in := proto.Values{
		"int": int64(5), "big": int64(9007199254740993), "huge": uint64(math.MaxUint64), "min": int64(math.MinInt64),
		"float": 3.0, "small": 1e-9, "large": 1e300, "neg": -0.5,
		"text": "ä\"<>&\u2028\n", "empty": "", "yes": true, "null": nil,
		"list": []any{int64(1), 1.0, "x", []any{}}, "object": map[string]any{"n": int64(1), "f": 2.0},
	}
	once, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out proto.Values
	if err := json.Unmarshal(once, &out); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(in, out); d != "" {
		t.Errorf("%s\n%s", once, d)
	}
	arg := proto.RequestArg{Name: "a", Value: 3.0, Default: int64(3), Enum: []any{1.0, int64(2)}}
	b, err := json.Marshal(arg)
	if err != nil {
		t.Fatal(err)
	}
	var back proto.RequestArg
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(arg, back); d != "" {
		t.Errorf("%s\n%s", b, d)
	}
}

func TestNormalizeTakesWhatGoHas(t *testing.T) {
	t.Parallel()
	type point struct {
		X int `json:"x"`
	}
	in := proto.Values{"i": 1, "u": uint8(2), "f": float32(0.5), "s": []string{"a"}, "p": &point{X: 3}, "m": map[string]int{"k": 4}, "n": json.Number("5")}
	want := proto.Values{"i": int64(1), "u": int64(2), "f": 0.5, "s": []any{"a"}, "p": map[string]any{"x": int64(3)}, "m": map[string]any{"k": int64(4)}, "n": int64(5)}
	if err := in.Normalize(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, in); d != "" {
		t.Error(d)
	}
	for _, bad := range []any{math.NaN(), math.Inf(1), func() {}, make(chan int), json.Number("1e999")} {
		if _, err := proto.NormalizeValue(bad); err == nil {
			t.Errorf("%T %v is taken for a JSON value", bad, bad)
		}
	}
}

// Any JSON text that decodes gives the same value again after it was written.
func TestValuesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := value(3).Draw(t, "x")
		b, err := proto.EncodeValue(x)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b) {
			t.Fatalf("%s is no JSON", b)
		}
		y, err := proto.DecodeValue(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(x, y); d != "" {
			t.Fatalf("%s: %s", b, d)
		}
	})
}

func value(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.String().AsAny(),
		rapid.Float64Range(-1e308, 1e308).AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	list := rapid.SliceOfN(value(depth-1), 0, 3)
	object := rapid.MapOfN(rapid.String(), value(depth-1), 0, 3)
	return rapid.OneOf(append(leaves, list.AsAny(), object.AsAny())...)
}

func TestClonesShareNothing(t *testing.T) {
	t.Parallel()
	in := proto.Values{"l": []any{map[string]any{"a": int64(1)}}}
	out := in.Clone()
	out["l"].([]any)[0].(map[string]any)["a"] = int64(2)
	if d := cmp.Diff(proto.Values{"l": []any{map[string]any{"a": int64(1)}}}, in); d != "" {
		t.Error(d)
	}
	if proto.Values(nil).Clone() != nil {
		t.Error("the clone of nothing is something")
	}
}

// FuzzValues: what is read as JSON is written as JSON that reads as the same.
func FuzzValues(f *testing.F) {
	for _, s := range []string{`{}`, `null`, `{"a": [1, 2.0, 1e400], "b": {"c": null}}`, `{"n": 18446744073709551615, "m": -0.0}`, `{"\u0000<&": "\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var first, second proto.Values
		if first.UnmarshalJSON(b) != nil {
			return
		}
		written, err := first.MarshalJSON()
		if err != nil {
			t.Fatalf("%q is read and cannot be written: %v", b, err)
		}
		if err := second.UnmarshalJSON(written); err != nil {
			t.Fatalf("%q becomes %q, which cannot be read: %v", b, written, err)
		}
		if first == nil {
			first = proto.Values{} // null is written as {}
		}
		if d := cmp.Diff(first, second); d != "" {
			t.Errorf("%q (-read +written and read):\n%s", b, d)
		}
	})
}
