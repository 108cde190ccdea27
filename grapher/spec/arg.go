package spec

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/proto"
)

// Arg is an arg of a sequence.
type Arg struct {
	Pos
	Name    string
	Desc    string
	Default any    // of optional and static args; typed as Type says, else as YAML string
	Type    string // string, int, float, bool, list, object, or "" for any
	Enum    []any
	Pattern string // the whole of a string value must match it
	Secret  bool   // never shown, logged or stored in clear

	HasDefault bool // it has one that could be read as Type
	BadEnum    bool // a choice was refused

	pattern *regexp.Regexp
	Fields  Fields
}

// HasPattern reports whether the arg has a pattern that is a regular expression.
func (a *Arg) HasPattern() bool { return a.pattern != nil }

// Accept returns a value of the arg as its type asks for, or says what is wrong
// with it ("must be ..."). It never shows a secret value.
func (a *Arg) Accept(x any) (any, error) {
	v, ok := convert(x, a.Type)
	if !ok {
		return nil, fmt.Errorf("must be %s, not %s", TypePhrase(a.Type), a.show(x))
	}
	if len(a.Enum) > 0 && !a.isChoice(v) {
		if a.Secret {
			return nil, fmt.Errorf("is none of the values that are allowed")
		}
		return nil, fmt.Errorf("must be one of %s, not %s", a.choices(), a.show(x))
	}
	if a.pattern != nil && (a.Type == "" || a.Type == "string") {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("must be a string that matches %s, not %s", problem.Quote(a.Pattern), a.show(x))
		}
		if !a.pattern.MatchString(text) {
			return nil, fmt.Errorf("must match %s, and %s does not", problem.Quote(a.Pattern), a.show(x))
		}
	}
	return v, nil
}

// AcceptGiven is Accept for what a caller gave, which may be a text that reads exactly as
// the scalar that the type asks for.
func (a *Arg) AcceptGiven(x any) (any, error) {
	if text, ok := x.(string); ok {
		if v, ok := fromText(text, a.Type); ok {
			x = v
		}
	}
	return a.Accept(x)
}

// isChoice compares by text: 3 and 3.0 are one number, and without a type the
// choices are the texts in the spec.
func (a *Arg) isChoice(x any) bool {
	text := proto.Text(x)
	for _, choice := range a.Enum {
		if proto.Text(choice) == text {
			return true
		}
	}
	return false
}

func (a *Arg) choices() string {
	texts := make([]string, len(a.Enum))
	for i, choice := range a.Enum {
		texts[i] = proto.Text(choice)
	}
	return problem.QuoteAll(texts)
}

// show says what a value is, without its text if it is secret.
func (a *Arg) show(x any) string {
	kind, text := "the string ", proto.Text(x)
	switch x.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case bool, int64, uint64:
		kind = ""
	case float64:
		kind = ""
		if a.Type == "int" && !strings.ContainsAny(text, ".e") {
			text += ".0" // what was given had a point: "not 2" would puzzle
		}
	}
	if a.Secret {
		return "the secret that is given"
	}
	if kind == "" {
		return problem.Plain(text)
	}
	return kind + problem.Quote(text)
}
