package spec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/proto"
)

// value returns any YAML value with the types that proto.Values holds. Keys
// that an object has twice are reported.
func (d *decoder) value(n *yaml.Node) (any, error) {
	n = deref(n)
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, child := range n.Content {
			x, err := d.value(child)
			if err != nil {
				return nil, err
			}
			list[i] = x
		}
		return list, nil
	case yaml.MappingNode:
		object := make(map[string]any, len(n.Content)/2)
		for _, e := range d.entries(n, "an object") {
			x, err := d.value(e.value)
			if err != nil {
				return nil, err
			}
			object[e.key] = x
		}
		return object, nil
	}
	x, err := scalar(n)
	if err == nil && proto.Text(x) != n.Value {
		d.literal(n, x)
	}
	return x, err
}

// literal warns of a number or boolean whose text is not what was written, as 1.10
// becomes 1.1 and 0644 becomes 420. Null has no other text that could be meant.
func (d *decoder) literal(n *yaml.Node, x any) {
	switch n.ShortTag() {
	case "!!int", "!!float":
		d.report("literal", n.Line, "%s is the number %s in YAML: write it in quotes if the text is meant, or else write %s", problem.Quote(n.Value), proto.Text(x), proto.Text(x))
	case "!!bool":
		d.report("literal", n.Line, "%s is the boolean %s in YAML: write it in quotes if the text is meant, or else write %s", problem.Quote(n.Value), proto.Text(x), proto.Text(x))
	}
}

// wholeNumber are the forms of decimal numbers that have no fraction.
var wholeNumber = regexp.MustCompile(`^[-+]?[0-9][0-9_]*$`)

func scalar(n *yaml.Node) (any, error) {
	if !plainTag(n) {
		return nil, fmt.Errorf("the YAML tag %s is not supported", problem.Quote(n.Tag))
	}
	switch n.ShortTag() {
	case "!!timestamp", "!!str", "!!merge":
		return n.Value, nil // JSON has no times
	}
	if n.ShortTag() == "!!float" && wholeNumber.MatchString(n.Value) {
		return nil, fmt.Errorf("the whole number %s does not fit in 64 bits: write it in quotes to give it as text", problem.Plain(n.Value))
	}
	var x any
	if err := n.Decode(&x); err != nil {
		return nil, fmt.Errorf("%s is malformed", describe(n))
	}
	x, err := proto.NormalizeValue(x)
	if err != nil {
		return nil, fmt.Errorf("%s: a number must be finite", describe(n))
	}
	return x, nil
}

// typedValue returns a value of a spec file as the type of its arg asks for. A
// scalar is the text that it is written as if the type is "string" or not
// said.
func (d *decoder) typedValue(n *yaml.Node, typ string) (any, error) {
	n = deref(n)
	if n.Kind == yaml.ScalarNode && plainTag(n) && (typ == "" || typ == "string") {
		return n.Value, nil
	}
	var x any
	var err error
	if n.Kind == yaml.ScalarNode {
		x, err = d.typedScalar(n, typ)
	} else {
		x, err = d.value(n)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	x, ok := convert(x, typ)
	if !ok {
		return nil, fmt.Errorf("must be %s, not %s", TypePhrase(typ), describe(n))
	}
	return x, nil
}

// typedScalar is value for a scalar whose type is known: that 1.50 is 1.5 and 1_000 is 1000 puzzles nobody
// where a number is asked for, but that 0644 is 420 does.
func (d *decoder) typedScalar(n *yaml.Node, typ string) (any, error) {
	x, err := scalar(n)
	if err != nil || typ != "int" && typ != "float" {
		return x, err
	}
	decimal, notDecimal := strconv.ParseFloat(n.Value, 64)
	value, _ := strconv.ParseFloat(proto.Text(x), 64)
	if isHex := strings.Contains(strings.ToLower(n.Value), "0x"); !isHex && (notDecimal != nil || decimal != value) {
		d.literal(n, x)
	}
	return x, nil
}
