package spec

import (
	"errors"
	"math"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/treadle-run/treadle/grapher/problem"
)

func (d *decoder) decodeNodes(e entry, s *Sequence) {
	twice := func(e entry, first int) {
		d.node = e.key
		d.report("duplicate-key", e.line, "the node is defined here and also on line %d", first)
		d.node = ""
	}
	for _, e := range d.entriesOnce(e.value, "`nodes`", twice) {
		d.node = e.key
		n := &Node{Name: e.key, Pos: Pos{d.name, e.line}, Idempotent: true}
		if isNull(e.value) {
			d.report("wrong-type", e.line, "the node is null: it needs `category` and `type`")
		} else {
			n.Fields = decodeFields(d, e.value, nodeFields, "a node", n)
		}
		s.Nodes[n.Name] = n // even if it is null: others may depend on it
		d.node = ""
	}
}

var nodeFields = []field[Node]{
	{"category", func(d *decoder, e entry, n *Node) { n.Category = Category(d.text(e)) }},
	{"type", func(d *decoder, e entry, n *Node) { n.Type = d.text(e) }},
	{"args", func(d *decoder, e entry, n *Node) { n.Args = d.decodeNodeArgs(e) }},
	{"sets", func(d *decoder, e entry, n *Node) { n.Sets = d.decodeSets(e) }},
	{"deps", func(d *decoder, e entry, n *Node) { n.Deps, n.depLines = d.texts(e) }},
	{"each", func(d *decoder, e entry, n *Node) { n.Each = d.decodeEach(e) }},
	{"parallel", func(d *decoder, e entry, n *Node) { n.Parallel = d.parallel(e) }},
	{"if", func(d *decoder, e entry, n *Node) { n.If = d.text(e) }},
	{"eq", func(d *decoder, e entry, n *Node) { d.decodeEq(e, n) }},
	{"retry", func(d *decoder, e entry, n *Node) { n.Retry = d.retry(e) }},
	{"retryWait", func(d *decoder, e entry, n *Node) { n.RetryWait = d.duration(e, "retry-wait") }},
	{"retryBackoff", func(d *decoder, e entry, n *Node) { n.RetryBackoff = d.backoff(e) }},
	{"retryWaitMax", func(d *decoder, e entry, n *Node) { n.RetryWaitMax = d.duration(e, "retry-backoff") }},
	{"timeout", func(d *decoder, e entry, n *Node) { n.Timeout = d.duration(e, "timeout") }},
	{"idempotent", func(d *decoder, e entry, n *Node) { n.Idempotent = d.boolean(e) }},
}

func (d *decoder) parallel(e entry) uint {
	i, ok := d.integer(e)
	if ok && i <= 0 {
		d.report("parallel", e.line, "`parallel` is %d: it must be at least 1", i)
		return 0
	}
	return uint(i)
}

func (d *decoder) retry(e entry) uint {
	i, ok := d.integer(e)
	if ok && i < 0 {
		d.wrongType(e, "a whole number that is not negative")
		return 0
	}
	return uint(i)
}

// maxBackoff is the limit of `retryBackoff`.
const maxBackoff = 1_000_000_000

func (d *decoder) backoff(e entry) float64 {
	n := deref(e.value)
	x, err := scalarNumber(n)
	if err != nil {
		d.wrongType(e, "a number")
		return 0
	}
	if x < 1 || x > maxBackoff {
		d.report("retry-backoff", e.line, "`retryBackoff` is %s: it must be from 1 to %d", problem.Plain(n.Value), maxBackoff)
		return 0
	}
	return x
}

var errNotNumber = errors.New("not a number")

func scalarNumber(n *yaml.Node) (float64, error) {
	var x float64
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" && n.ShortTag() != "!!float" {
		return 0, errNotNumber
	}
	if err := n.Decode(&x); err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, errNotNumber
	}
	return x, nil
}

var nodeArgFields = []field[NodeArg]{
	{"expected", func(d *decoder, e entry, a *NodeArg) { a.Expected = d.text(e) }},
	{"given", func(d *decoder, e entry, a *NodeArg) { a.Given = d.text(e) }},
}

func (d *decoder) decodeNodeArgs(e entry) []*NodeArg {
	var args []*NodeArg
	for _, n := range d.objects(e, "expected: name") {
		args = append(args, d.decodeNodeArg(n))
	}
	return args
}

// decodeNodeArg reads `value` apart from the other fields, because a null there
// is a value.
func (d *decoder) decodeNodeArg(n *yaml.Node) *NodeArg {
	a := &NodeArg{Pos: Pos{d.name, n.Line}}
	for _, e := range d.entries(n, "an element of `args`") {
		f := fieldOf(nodeArgFields, e.key)
		switch {
		case e.key == "value":
			x, err := d.value(e.value)
			if err != nil {
				d.report("wrong-type", e.line, "`value`: %s", err)
			}
			a.Value, a.HasValue = x, true
		case f == nil:
			d.unknownField(e, "an element of `args`", append(fieldNamesOf(nodeArgFields), "value"))
			continue
		case isNull(e.value):
			continue
		default:
			f.set(d, e, a)
		}
		a.Fields.add(e.key, e.line)
	}
	if a.Given == "" && !a.HasValue {
		a.Given = a.Expected
	}
	return a
}

var setFields = []field[NodeSet]{
	{"arg", func(d *decoder, e entry, s *NodeSet) { s.Arg = d.text(e) }},
	{"as", func(d *decoder, e entry, s *NodeSet) { s.As = d.text(e) }},
	{"collect", func(d *decoder, e entry, s *NodeSet) { s.Collect = d.boolean(e) }},
}

func (d *decoder) decodeSets(e entry) []*NodeSet {
	var sets []*NodeSet
	for _, n := range d.objects(e, "arg: name") {
		s := &NodeSet{Pos: Pos{d.name, n.Line}}
		s.Fields = decodeFields(d, n, setFields, "an element of `sets`", s)
		if s.As == "" {
			s.As = s.Arg
		}
		sets = append(sets, s)
	}
	return sets
}

func (d *decoder) decodeEach(e entry) []*Each {
	var each []*Each
	for _, n := range d.list(e) {
		line := n.Line
		n = deref(n)
		list, element, ok := strings.Cut(n.Value, ":")
		if n.Kind != yaml.ScalarNode || !ok || list == "" || element == "" || strings.Contains(element, ":") {
			d.report("each-form", line, "an element of `each` must be `list:element`, without a space, not %s", describe(n))
			continue
		}
		each = append(each, &Each{Pos{d.name, line}, intern(list), intern(element)})
	}
	return each
}

func (d *decoder) decodeEq(e entry, n *Node) {
	n.Eq, n.eqLines = map[string]string{}, map[string]int32{}
	for _, choice := range d.entries(e.value, "`eq`") {
		if choice.null {
			if first, ok := n.eqLines[NullChoice]; ok {
				d.report("duplicate-key", choice.line, "`eq` has null here and also on line %d", first)
			}
			choice.key = NullChoice
		}
		if isNull(choice.value) {
			d.wrongType(choice, "the name of a sequence")
			continue
		}
		n.Eq[choice.key] = d.text(choice)
		n.eqLines[choice.key] = int32(choice.line)
	}
}
