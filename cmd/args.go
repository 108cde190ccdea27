package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/treadle-run/treadle/proto"
)

// maxArgsFile bounds what --args-file reads, in bytes: far more than a request
// may have.
const maxArgsFile = 64 << 20

// parseArgs turns words such as "host=db1" and "hosts:=[\"a\"]" into args. A word
// with ":=" is JSON. One with "=" is what the spec says that the arg is: JSON for
// int, float, bool, list and object, else the text itself. A list may also be
// texts with commas between them.
func parseArgs(spec proto.RequestSpec, words []string) (proto.Values, error) {
	args := proto.Values{}
	for _, w := range words {
		name, text, ok := strings.Cut(w, "=")
		asJSON := strings.HasSuffix(name, ":")
		name = strings.TrimSuffix(name, ":")
		if !ok || name == "" {
			return nil, usageErrorf("%q is no arg: write name=value, or name:=JSON", w)
		}
		if _, ok := args[name]; ok {
			return nil, usageErrorf("arg %s is given twice", name)
		}
		v, err := argValue(argType(spec, name), text, asJSON)
		if err != nil {
			return nil, usageErrorf("arg %s: %v", name, err)
		}
		args[name] = v
	}
	return args, nil
}

// argType is the type that the spec asks of the arg, "" for any. An arg that the
// spec does not have is for the Request Manager to refuse.
func argType(spec proto.RequestSpec, name string) string {
	for _, a := range spec.Args {
		if a.Name == name {
			return a.ValueType
		}
	}
	return ""
}

// argValue is the value of text. Whether it fits the spec in full (enum, pattern)
// is for the Request Manager to say.
func argValue(valueType, text string, asJSON bool) (any, error) {
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
			return nil, fmt.Errorf("%s is not JSON; a text in it needs quotes", quoted(text))
		}
		return nil, fmt.Errorf("%s is not %s", quoted(text), nouns[valueType])
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

func splitTexts(text string) []any {
	list := []any{}
	for e := range strings.SplitSeq(text, ",") {
		if e = strings.TrimSpace(e); e != "" {
			list = append(list, e)
		}
	}
	return list
}

// quoted shows what a user typed, cut short.
func quoted(s string) string { return fmt.Sprintf("%q", short(s, 60)) }

// readArgsFile reads a JSON object of args from a file, or from stdin for "-".
func (p *program) readArgsFile(path string) (proto.Values, error) {
	in := p.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, usageErrorf("--args-file: %v", err)
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxArgsFile+1))
	if err != nil {
		return nil, fmt.Errorf("--args-file: %w", err)
	}
	if len(b) > maxArgsFile {
		return nil, usageErrorf("--args-file: larger than %d MiB", maxArgsFile>>20)
	}
	var args proto.Values
	if err := json.Unmarshal(b, &args); err != nil || args == nil {
		return nil, usageErrorf("--args-file: %s must have one JSON object, such as {\"host\": \"db1\"}", path)
	}
	return args, nil
}

// missing returns the required args of the spec that are not in args.
func missing(spec proto.RequestSpec, args proto.Values) []proto.RequestArg {
	var out []proto.RequestArg
	for _, a := range spec.Args {
		if _, ok := args[a.Name]; !ok && a.Type == proto.ArgRequired {
			out = append(out, a)
		}
	}
	return out
}
