package spec

import (
	"fmt"

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
	return scalar(n)
}

func scalar(n *yaml.Node) (any, error) {
	if !plainTag(n) {
		return nil, fmt.Errorf("the YAML tag %s is not supported", problem.Quote(n.Tag))
	}
	switch n.ShortTag() {
	case "!!timestamp", "!!str", "!!merge":
		return n.Value, nil // JSON has no times
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
	x, err := d.value(n)
	if err != nil {
		return nil, err
	}
	x, ok := convert(x, typ)
	if !ok {
		return nil, fmt.Errorf("must be %s, not %s", TypePhrase(typ), describe(n))
	}
	return x, nil
}
