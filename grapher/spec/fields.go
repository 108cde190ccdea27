package spec

// Fields says on which lines of its file the fields of an object stand. Fields
// that are null count as left out. They serve the checks and are dropped after
// them.
type Fields []fieldLine

// fieldLine is small, and without pointers: there are very many.
type fieldLine struct {
	field uint8 // in fieldNames
	line  int32
}

// fieldNames are the fields of all objects in a spec.
var fieldNames = []string{
	"sequences",
	"request", "args", "acl", "nodes", "timeout",
	"required", "optional", "static",
	"name", "desc", "default", "type", "enum", "pattern", "secret",
	"role", "admin", "ops",
	"category", "sets", "deps", "each", "parallel", "if", "eq",
	"retry", "retryWait", "retryBackoff", "retryWaitMax", "idempotent",
	"expected", "given", "value", "arg", "as", "collect",
	"apps", "every", "cron", "starts", "depends", "timezone", "host", "deadline", "undo", "failureDelay",
	"missed", "missedCap", "overlap", "jitter", "gap", "fold",
}

var fieldNumbers = func() map[string]uint8 {
	m := make(map[string]uint8, len(fieldNames))
	for i, name := range fieldNames {
		m[name] = uint8(i)
	}
	return m
}()

// add notes that the field stands on the line.
func (f *Fields) add(name string, line int) {
	*f = append(*f, fieldLine{fieldNumbers[name], int32(line)})
}

// Has reports whether the field is there.
func (f Fields) Has(name string) bool { return f.Line(name, 0) != 0 }

// Line returns the line of the field, and other if it is not there.
func (f Fields) Line(name string, other int) int {
	for _, x := range f {
		if fieldNames[x.field] == name {
			return int(x.line)
		}
	}
	return other
}

// DropFields frees what only the checks need.
func (s *Sequence) DropFields() {
	s.Fields = nil
	for _, list := range s.Args.Lists() {
		for _, a := range list {
			a.Fields = nil
		}
	}
	for i := range s.ACL {
		s.ACL[i].Fields = nil
	}
	for _, n := range s.Nodes {
		n.Fields, n.depLines, n.eqLines = nil, nil, nil
		for _, a := range n.Args {
			a.Fields = nil
		}
		for _, set := range n.Sets {
			set.Fields = nil
		}
	}
}
