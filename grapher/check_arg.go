package grapher

import (
	"fmt"
	"slices"
	"strings"

	"github.com/treadle-run/treadle/proto"
)

func checkDuplicateArg(p *pass, s *Sequence) {
	first := map[string]int{}
	for _, list := range s.Args.lists() {
		for _, a := range list {
			if before, ok := first[a.Name]; ok && a.Name != "" {
				p.problem(a.Line, "the sequence has arg %s here and on line %d", quote(a.Name), before)
				continue
			}
			first[a.Name] = a.Line
		}
	}
}

func checkRequiredDefault(p *pass, s *Sequence) {
	for _, a := range s.Args.Required {
		if a.fields.has("default") {
			p.problem(a.fields.line("default", a.Line), "required arg %s has a default: leave it out, or make the arg optional", quote(a.Name))
		}
	}
}

func checkMissingDefault(p *pass, s *Sequence) {
	for kind, list := range map[string][]*Arg{"optional": s.Args.Optional, "static": s.Args.Static} {
		for _, a := range list {
			if !a.fields.has("default") {
				p.problem(a.Line, "%s arg %s has no `default` (the empty text is \"\")", kind, quote(a.Name))
			}
		}
	}
}

func checkArgRules(p *pass, s *Sequence) {
	for _, list := range s.Args.lists() {
		for _, a := range list {
			if a.fields.has("enum") && len(a.Enum) == 0 && !a.badEnum && !p.failedAt(s, a.fields.line("enum", a.Line)) {
				p.problem(a.fields.line("enum", a.Line), "`enum` of %s is empty: no value would be allowed", quote(a.Name))
			}
			if a.Pattern != "" && a.Type != "" && a.Type != "string" {
				p.problem(a.fields.line("pattern", a.Line), "`pattern` of %s needs a string, and the type is %s", quote(a.Name), a.Type)
			}
		}
	}
}

// anchors are what ties a pattern to the start or the end of a text.
var anchors = []string{"^", "$", `\A`, `\z`}

func checkLoosePattern(p *pass, s *Sequence) {
	for _, list := range s.Args.lists() {
		for _, a := range list {
			if a.pattern != nil && !slices.ContainsFunc(anchors, func(x string) bool { return strings.Contains(a.Pattern, x) }) {
				p.problem(a.fields.line("pattern", a.Line), "`pattern` of %s has no anchor, so that a value matches if any part of it does; the whole value is meant by %s",
					quote(a.Name), quote("^("+a.Pattern+")$"))
			}
		}
	}
}

func checkBadDefault(p *pass, s *Sequence) {
	for _, list := range s.Args.lists() {
		for _, a := range list {
			if !a.hasDefault {
				continue
			}
			if _, err := a.accept(a.Default); err != nil {
				p.problem(a.fields.line("default", a.Line), "the default of %s %s", quote(a.Name), err)
			}
		}
	}
}

// accept returns a value of the arg as its type asks for, or says what is wrong
// with it ("must be ..."). It never shows a secret value.
func (a *Arg) accept(x any) (any, error) {
	v, ok := convert(x, a.Type)
	if !ok {
		return nil, fmt.Errorf("must be %s, not %s", typePhrase(a.Type), a.show(x))
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
			return nil, fmt.Errorf("must be a string that matches %s, not %s", quote(a.Pattern), a.show(x))
		}
		if !a.pattern.MatchString(text) {
			return nil, fmt.Errorf("must match %s, and %s does not", quote(a.Pattern), a.show(x))
		}
	}
	return v, nil
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
	return quoteAll(texts)
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
		return plain(text)
	}
	return kind + quote(text)
}
