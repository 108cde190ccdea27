package proto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Values is a set of named JSON values: the args of a request or job, or job
// data. Unlike a plain map, it keeps the types of numbers through JSON: a number
// written as an integer is an int64 (a uint64 above its range), every other one
// a float64, and a float64 is always written with a fraction or an exponent, so
// that 3.0 does not come back as the integer 3.
//
// A value is one of nil, bool, string, int64, uint64, float64, []any and
// map[string]any of these; Normalize makes it so.
type Values map[string]any

// Clone returns a copy that shares no map or list with v.
func (v Values) Clone() Values {
	if v == nil {
		return nil
	}
	out := make(Values, len(v))
	for k, x := range v {
		out[k] = cloneValue(x)
	}
	return out
}

func cloneValue(x any) any {
	switch x := x.(type) {
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = cloneValue(x[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, y := range x {
			out[k] = cloneValue(y)
		}
		return out
	}
	return x
}

// Normalize brings every value of v to the types that Values holds, in place.
// The error names the key whose value JSON cannot carry.
func (v Values) Normalize() error {
	for k, x := range v {
		n, err := NormalizeValue(x)
		if err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
		v[k] = n
	}
	return nil
}

// NormalizeValue returns x with the types that Values holds. Types that JSON
// knows by another name (structs, typed slices and maps) take their JSON form.
func NormalizeValue(x any) (any, error) {
	switch x := x.(type) {
	case nil, bool, string, int64:
		return x, nil
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("%v is not a JSON value", x)
		}
		return x, nil
	case float32:
		return NormalizeValue(float64(x))
	case json.Number:
		return numberValue(x)
	case []any:
		return normalizeList(x)
	case map[string]any:
		return normalizeObject(x)
	case Values:
		return normalizeObject(x)
	}
	switch rv := reflect.ValueOf(x); rv.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if _, ok := x.(json.Marshaler); !ok {
			return rv.Int(), nil
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if _, ok := x.(json.Marshaler); !ok {
			if u := rv.Uint(); u > math.MaxInt64 {
				return u, nil
			}
			return int64(rv.Uint()), nil
		}
	}
	b, err := json.Marshal(x)
	if err != nil {
		return nil, err
	}
	return DecodeValue(b)
}

func normalizeList(x []any) (any, error) {
	out := make([]any, len(x))
	for i := range x {
		n, err := NormalizeValue(x[i])
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out[i] = n
	}
	return out, nil
}

func normalizeObject(x map[string]any) (any, error) {
	out := make(map[string]any, len(x))
	for k, y := range x {
		n, err := NormalizeValue(y)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = n
	}
	return out, nil
}

func numberValue(n json.Number) (any, error) {
	s := string(n)
	if !strings.ContainsAny(s, ".eE") {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i, nil
		}
		if u, err := strconv.ParseUint(s, 10, 64); err == nil {
			return u, nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("number %s is out of range", Excerpt(s))
	}
	return f, nil
}

// DecodeValue decodes one JSON value into the types that Values holds.
func DecodeValue(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return typeNumbers(x)
}

// typeNumbers replaces every json.Number in x, in place where it can.
func typeNumbers(x any) (any, error) {
	var err error
	switch x := x.(type) {
	case json.Number:
		return numberValue(x)
	case []any:
		for i := range x {
			if x[i], err = typeNumbers(x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k, y := range x {
			if x[k], err = typeNumbers(y); err != nil {
				return nil, err
			}
		}
	}
	return x, nil
}

// UnmarshalJSON decodes a JSON object; null gives nil.
func (v *Values) UnmarshalJSON(b []byte) error {
	if len(b) == 2 && b[0] == '{' {
		*v = Values{}
		return nil
	}
	x, err := DecodeValue(b)
	if err != nil {
		return err
	}
	switch x := x.(type) {
	case nil:
		*v = nil
	case map[string]any:
		*v = x
	default:
		return fmt.Errorf("expected a JSON object")
	}
	return nil
}

// MarshalJSON writes a JSON object with its keys in order; nil is {}.
func (v Values) MarshalJSON() ([]byte, error) {
	return appendObject(nil, v)
}

// EncodeValue returns x as JSON, with the number types that DecodeValue restores.
func EncodeValue(x any) ([]byte, error) {
	return appendValue(nil, x)
}

func appendObject(b []byte, m map[string]any) ([]byte, error) {
	b = append(b, '{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		b = appendString(b, k)
		b = append(b, ':')
		if b, err = appendValue(b, m[k]); err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
	}
	return append(b, '}'), nil
}

func appendValue(b []byte, x any) ([]byte, error) {
	switch x := x.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, x), nil
	case string:
		return appendString(b, x), nil
	case int64:
		return strconv.AppendInt(b, x, 10), nil
	case uint64:
		return strconv.AppendUint(b, x, 10), nil
	case float64:
		return appendFloat(b, x)
	case []any:
		b = append(b, '[')
		for i := range x {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendValue(b, x[i]); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case map[string]any:
		return appendObject(b, x)
	case Values:
		return appendObject(b, x)
	}
	n, err := NormalizeValue(x)
	if err != nil {
		return nil, err
	}
	return appendValue(b, n)
}

func appendFloat(b []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is not a JSON value", f)
	}
	start := len(b)
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if !bytes.ContainsAny(b[start:], ".e") {
		b = append(b, ".0"...)
	}
	return b, nil
}

// appendString quotes s as JSON. Plain ASCII, nearly every key and value, does
// not pay for the general encoder.
func appendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			q, _ := json.Marshal(s) // a string always has a JSON form
			return append(b, q...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// Text returns x as text, the way `if` of a conditional compares it and a
// command sees it: a string as it is, everything else as JSON writes it (3, 3.5,
// true, null, ["a"]).
func Text(x any) string {
	if s, ok := x.(string); ok {
		return s
	}
	b, err := json.Marshal(x)
	if err != nil {
		return fmt.Sprint(x)
	}
	return string(b)
}
