package job

import (
	"fmt"
	"strings"
)

// TypeText says in a few words which values an arg takes, for tables.
func (a *Arg) TypeText() string {
	text := string(a.Type)
	if text == "" {
		text = "any"
	}
	switch {
	case len(a.Enum) > 0:
		return strings.Join(a.Enum, ", ")
	case a.Min != nil && a.Max != nil:
		return fmt.Sprintf("%s, %d to %d", text, *a.Min, *a.Max)
	case a.Min != nil:
		return fmt.Sprintf("%s, at least %d", text, *a.Min)
	case a.Max != nil:
		return fmt.Sprintf("%s, at most %d", text, *a.Max)
	case a.Pattern != "":
		return text + " like " + a.Pattern
	}
	return text
}

// GivenText says whether an arg must be given, and what it is if it is not, for tables.
func (a *Arg) GivenText() string {
	switch {
	case a.Required:
		return "required"
	case a.Default != nil:
		return "default " + Literal(a.Default)
	}
	return "optional"
}
