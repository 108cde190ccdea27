package spec

import (
	"strings"

	"github.com/treadle-run/treadle/proto"
)

// valueTypes are the types that an arg can ask for.
var valueTypes = []string{"string", "int", "float", "bool", "list", "object"}

// convert returns x as the type asks for, and false if it is of another type. A
// whole number is a float where a float is asked for.
func convert(x any, typ string) (any, bool) {
	ok := true
	switch typ {
	case "string":
		_, ok = x.(string)
	case "bool":
		_, ok = x.(bool)
	case "list":
		_, ok = x.([]any)
	case "object":
		_, ok = x.(map[string]any)
	case "int":
		switch x.(type) {
		case int64, uint64:
		default:
			ok = false
		}
	case "float":
		switch i := x.(type) {
		case int64:
			return float64(i), true
		case uint64:
			return float64(i), true
		}
		_, ok = x.(float64)
	}
	return x, ok
}

// fromText returns the scalar of a type that a text reads exactly as, and false if there
// is none: some clients can send text only.
func fromText(text, typ string) (any, bool) {
	if typ != "int" && typ != "float" && typ != "bool" || strings.TrimSpace(text) != text {
		return nil, false
	}
	x, err := proto.DecodeValue([]byte(text))
	if err != nil || typ == "int" && proto.Text(x) != text { // -0 is none
		return nil, false
	}
	return convert(x, typ)
}

// TypePhrase says in words what a type asks for.
func TypePhrase(typ string) string {
	switch typ {
	case "string":
		return "a string"
	case "int":
		return "a whole number (int)"
	case "float":
		return "a number (float)"
	case "bool":
		return "true or false (bool)"
	case "list":
		return "a list"
	case "object":
		return "an object"
	}
	return "any value"
}
