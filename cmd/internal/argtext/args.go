package argtext

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/internal/exactjson"
	"github.com/treadle-run/treadle/proto"
)

// maxFile bounds a file of args, in bytes: far more than a request may have.
const maxFile = 64 << 20

// Parse turns words such as "host=db1" and "hosts:=[\"a\"]" into args. A word
// with ":=" has a JSON value. A word with "=" has a value of the type in the spec: JSON
// for int, float, bool, list and object, else the text itself. A list may also be
// strings with commas between them.
func Parse(spec proto.RequestSpec, words []string) (proto.Values, error) {
	args := proto.Values{}
	for _, w := range words {
		name, text, ok := strings.Cut(w, "=")
		asJSON := strings.HasSuffix(name, ":")
		name = strings.TrimSuffix(name, ":")
		if !ok || name == "" {
			return nil, verb.Usagef("%q is not an arg: expected name=value or name:=JSON", w)
		}
		if _, ok := args[name]; ok {
			return nil, verb.Usagef("arg %s is given twice", name)
		}
		v, err := ParseValue(argType(spec, name), text, asJSON)
		if err != nil {
			return nil, verb.Usagef("arg %s: %v", name, err)
		}
		args[name] = v
	}
	return args, nil
}

// argType is the type of the arg in the spec, "" for any. The Request Manager refuses
// an arg that the spec does not have.
func argType(spec proto.RequestSpec, name string) string {
	for _, a := range spec.Args {
		if a.Name == name {
			return a.ValueType
		}
	}
	return ""
}

// ParseValue reads the value of an arg. The Request Manager checks the rest of the spec
// (enum, pattern).
func ParseValue(valueType, text string, asJSON bool) (any, error) {
	if !asJSON {
		switch valueType {
		case "", "string":
			return text, nil
		case "list":
			if !strings.HasPrefix(strings.TrimSpace(text), "[") {
				return splitTexts(text), nil
			}
		}
	}
	v, err := proto.DecodeValue([]byte(text))
	if err != nil {
		if asJSON {
			return nil, fmt.Errorf("%s is not JSON; a string in JSON has quotes", quoted(text))
		}
		return nil, fmt.Errorf("%s is not %s", quoted(text), nouns[valueType])
	}
	if err := exactjson.Check([]byte(text)); err != nil {
		return nil, err
	}
	if !asJSON && !fits(valueType, v) {
		return nil, fmt.Errorf("%s is not %s", quoted(text), nouns[valueType])
	}
	return v, nil
}

var nouns = map[string]string{
	"int":    "a whole number",
	"float":  "a number",
	"bool":   "true or false",
	"list":   `a list: write a,b,c, or JSON such as ["a", "b"]`,
	"object": `an object: write JSON such as {"a": 1}`,
}

func fits(valueType string, v any) bool {
	switch v.(type) {
	case int64, uint64:
		return valueType == "int" || valueType == "float"
	case float64:
		return valueType == "float"
	case bool:
		return valueType == "bool"
	case []any:
		return valueType == "list"
	case map[string]any:
		return valueType == "object"
	}
	return false
}

// splitTexts reads "a, b,,c": four strings, of which the third is empty. Nothing is an
// empty list.
func splitTexts(text string) []any {
	list := []any{}
	if strings.TrimSpace(text) == "" {
		return list
	}
	for e := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(e))
	}
	return list
}

// quoted shows what a user typed, cut short.
func quoted(s string) string { return fmt.Sprintf("%q", term.Short(s, 60)) }

// ReadFile reads a JSON object of args from the file of --args-file, or from stdin
// for "-".
func ReadFile(stdin io.Reader, path string) (proto.Values, error) {
	b, err := verb.ReadInput(stdin, path, maxFile)
	if err != nil {
		return nil, verb.Usagef("--args-file: %w", err)
	}
	var args proto.Values
	if err := json.Unmarshal(b, &args); err != nil || args == nil {
		return nil, verb.Usagef("--args-file: %s must have one JSON object, such as {\"host\": \"db1\"}", path)
	}
	if err := exactjson.Check(b); err != nil {
		return nil, verb.Usagef("--args-file: %s: %w", path, err)
	}
	return args, nil
}

// Missing returns the required args of the spec that are not in args.
func Missing(spec proto.RequestSpec, args proto.Values) []proto.RequestArg {
	var out []proto.RequestArg
	for _, a := range spec.Args {
		if _, ok := args[a.Name]; !ok && a.Type == proto.ArgRequired {
			out = append(out, a)
		}
	}
	return out
}
