package spec

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"

	"gopkg.in/yaml.v3"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/proto"
)

// entry is a key of a YAML mapping with its value.
type entry struct {
	key   string
	null  bool // the key is null, as ~ or null is
	line  int  // of the key
	value *yaml.Node
}

// field is a field that an object of type T may have. Set is not called for a
// value that is null: that counts as left out.
type field[T any] struct {
	name string
	set  func(d *decoder, e entry, t *T)
}

// decodeFields decodes a mapping by a table of its fields. What names the object
// in messages, as "a node".
func decodeFields[T any](d *decoder, n *yaml.Node, table []field[T], what string, t *T) Fields {
	entries := d.entries(n, what)
	found := make(Fields, 0, len(entries))
	for _, e := range entries {
		f := fieldOf(table, e.key)
		if f == nil {
			d.unknownField(e, what, fieldNamesOf(table))
			continue
		}
		if isNull(e.value) {
			continue
		}
		found.add(f.name, e.line)
		f.set(d, e, t)
	}
	return found
}

func fieldOf[T any](table []field[T], name string) *field[T] {
	for i := range table {
		if table[i].name == name {
			return &table[i]
		}
	}
	return nil
}

func fieldNamesOf[T any](table []field[T]) []string {
	names := make([]string, len(table))
	for i := range table {
		names[i] = table[i].name
	}
	return names
}

func (d *decoder) unknownField(e entry, what string, known []string) {
	if meant := d.suggest.Meant(e.key, known); meant != "" {
		d.report("unknown-field", e.line, "unknown field %s%s", problem.Quote(e.key), meant)
		return
	}
	d.report("unknown-field", e.line, "unknown field %s: %s has %s", problem.Quote(e.key), what, problem.QuoteAll(known))
}

// entries returns the keys of a mapping in order, those merged in by `<<` after
// its own. Keys that are there twice are reported.
func (d *decoder) entries(n *yaml.Node, what string) []entry {
	return d.entriesOnce(n, what, func(e entry, first int) {
		d.report("duplicate-key", e.line, "the key %s is here and also on line %d", problem.Quote(e.key), first)
	})
}

func (d *decoder) entriesOnce(n *yaml.Node, what string, twice func(e entry, first int)) []entry {
	n = deref(n)
	if n.Kind != yaml.MappingNode {
		d.report("wrong-type", n.Line, "%s must be an object with fields, not %s", what, describe(n))
		return nil
	}
	l := entryList{entries: make([]entry, 0, len(n.Content)/2)}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := deref(n.Content[i]), deref(n.Content[i+1])
		switch {
		case k.Kind != yaml.ScalarNode:
			d.report("wrong-type", k.Line, "a key must be text, not %s", describe(k))
		case k.ShortTag() == "!!merge":
			merged = append(merged, v)
		default:
			e := entry{intern(k.Value), isNull(k), k.Line, v}
			if first := l.add(e); first != 0 {
				twice(e, first)
				if d.severity("duplicate-key") == problem.Warning {
					l.replace(e)
				}
			}
		}
	}
	for _, m := range merged {
		d.merge(&l, m, what)
	}
	return l.entries
}

// merge adds the keys of a merged mapping, or of a list of them, that are not
// there yet.
func (d *decoder) merge(l *entryList, n *yaml.Node, what string) {
	from := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		from = n.Content
	}
	for _, m := range from {
		for _, e := range d.entries(m, "what `<<` merges into "+what) {
			l.add(e)
		}
	}
}

// entryList gathers entries, each key once.
type entryList struct {
	entries []entry
	lines   map[entryKey]int // of keys, once there are so many that a search is slow
}

// add appends the entry and returns 0 or, if its key is there already, the line of
// that.
func (l *entryList) add(e entry) (first int) {
	const few = 16
	switch {
	case l.lines != nil:
		first = l.lines[e.id()]
	default:
		for i := range l.entries {
			if l.entries[i].id() == e.id() {
				first = l.entries[i].line
				break
			}
		}
	}
	if first != 0 {
		return first
	}
	l.entries = append(l.entries, e)
	if l.lines == nil && len(l.entries) > few {
		l.lines = make(map[entryKey]int, 2*len(l.entries))
		for _, x := range l.entries {
			l.lines[x.id()] = x.line
		}
	} else if l.lines != nil {
		l.lines[e.id()] = e.line
	}
	return 0
}

// replace puts an entry in the place of the one that has its key.
func (l *entryList) replace(e entry) {
	i := slices.IndexFunc(l.entries, func(x entry) bool { return x.id() == e.id() })
	l.entries[i] = e
}

// entryKey is what no two entries have in common. A null is another key than the text.
type entryKey struct {
	key  string
	null bool
}

func (e entry) id() entryKey { return entryKey{e.key, e.null} }

// intern returns a text that all files share: they repeat the same names very
// often.
func intern(s string) string { return unique.Make(s).Value() }

// deref returns the node that an alias stands for.
func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	n = deref(n)
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// describe says what a node is, for messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "an object"
	}
	switch n.ShortTag() {
	case "!!null":
		return "null"
	case "!!int", "!!float":
		return "the number " + problem.Plain(n.Value)
	case "!!bool":
		return problem.Plain(n.Value)
	}
	return "the text " + problem.Quote(n.Value)
}

// wrongType reports that the value of a field is not what it must be.
func (d *decoder) wrongType(e entry, expected string) {
	d.report("wrong-type", e.line, "%s must be %s, not %s", problem.Quote(e.key), expected, describe(deref(e.value)))
}

// text returns a scalar as it is written.
func (d *decoder) text(e entry) string {
	n := deref(e.value)
	if n.Kind != yaml.ScalarNode || !plainTag(n) || isNull(n) {
		d.wrongType(e, "text")
		return ""
	}
	return intern(n.Value)
}

// plainTag reports whether a scalar is one of the types that specs have.
func plainTag(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!null", "!!bool", "!!int", "!!float", "!!str", "!!timestamp", "!!merge":
		return true
	}
	return false
}

func (d *decoder) boolean(e entry) bool {
	n := deref(e.value)
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
		switch strings.ToLower(n.Value) {
		case "true", "yes", "on": // YAML 1.1 has all of these
			return true
		case "false", "no", "off":
			return false
		}
	}
	d.wrongType(e, "true or false")
	return false
}

// integer returns a whole number, and false if the value is none.
func (d *decoder) integer(e entry) (int64, bool) {
	n := deref(e.value)
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
		if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return i, true
		}
	}
	d.wrongType(e, "a whole number")
	return 0, false
}

// duration returns a length of time. A value that is none, or that is negative,
// is reported under the check; so is a timeout of 0, which would bound nothing.
func (d *decoder) duration(e entry, check string) proto.Duration {
	n := deref(e.value)
	if n.Kind != yaml.ScalarNode {
		d.wrongType(e, "a duration such as 30s")
		return 0
	}
	t, err := time.ParseDuration(n.Value)
	switch {
	case n.Value == "" && n.ShortTag() == "!!str":
		return 0
	case err != nil:
		d.report(check, e.line, "%s is %s, which is not a duration: write a number with a unit, such as 30s, 5m or 1h30m", problem.Quote(e.key), problem.Quote(n.Value))
	case t < 0:
		d.report(check, e.line, "%s is negative: %s", problem.Quote(e.key), problem.Plain(n.Value))
	case t == 0 && check == "timeout":
		d.report(check, e.line, "%s must be more than 0; leave it out for none", problem.Quote(e.key))
	default:
		return proto.Duration(t)
	}
	return 0
}

// list returns the elements of a list.
func (d *decoder) list(e entry) []*yaml.Node {
	n := deref(e.value)
	if n.Kind != yaml.SequenceNode {
		d.wrongType(e, "a list")
		return nil
	}
	return n.Content
}

// objects returns the elements of a list of objects, in which each is like the
// example.
func (d *decoder) objects(e entry, example string) []*yaml.Node {
	var objects []*yaml.Node
	for _, n := range d.list(e) {
		if deref(n).Kind != yaml.MappingNode {
			d.report("wrong-type", n.Line, "each element of %s must be an object such as `%s`, not %s", problem.Quote(e.key), example, describe(deref(n)))
			continue
		}
		objects = append(objects, n)
	}
	return objects
}

// texts returns a list of texts with the line of each.
func (d *decoder) texts(e entry) (texts []string, lines []int32) {
	for _, n := range d.list(e) {
		x := deref(n)
		if x.Kind != yaml.ScalarNode || isNull(x) || !plainTag(x) {
			d.report("wrong-type", n.Line, "each element of %s must be text, not %s", problem.Quote(e.key), describe(x))
			continue
		}
		texts = append(texts, intern(x.Value))
		lines = append(lines, int32(n.Line))
	}
	return texts, lines
}
