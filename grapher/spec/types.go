package spec

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
