package spec

import "github.com/treadle-run/treadle/proto"

// App is recurring work that a spec file declares.
type App struct {
	proto.App
	Pos

	fields    Fields
	argLines  map[string]int // of Args, by name
	upLines   map[string]int // of Depends, by name of the upstream app
	malformed map[string]bool
}

// WholeApp stands for all fields of an app among those that are malformed.
const WholeApp = ""

// Malformed reports whether decoding refused the value of one of the fields.
func (a *App) Malformed(fields ...string) bool {
	for _, field := range fields {
		if a.malformed[field] {
			return true
		}
	}
	return false
}

// FieldLine returns the line of a field of the app, or of a key in it; that of the app
// if the field is not there, or is "name".
func (a *App) FieldLine(field, key string) int {
	if field == "name" {
		return a.Line
	}
	switch line := 0; {
	case key == "":
	case field == "args":
		if line = a.argLines[key]; line != 0 {
			return line
		}
	case field == "depends":
		if line = a.upLines[key]; line != 0 {
			return line
		}
	}
	return a.fields.Line(field, a.Line)
}

// DropFields frees what only the checks need.
func (a *App) DropFields() { a.fields, a.argLines, a.upLines, a.malformed = nil, nil, nil, nil }
