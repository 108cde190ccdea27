package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"gopkg.in/yaml.v3"
)

// maxFileSize bounds a configuration file, in bytes. Real ones have a few
// hundred.
const maxFileSize = 1 << 20

// Load reads the YAML file at path, then the environment, into the struct that
// into points to. Keys that neither has keep the value they have, so into starts
// with the defaults. Without a path only the environment counts. An environment
// variable that is empty counts as not set.
//
// The error has every problem, one a line: those of the file as file:line, those
// of the environment by the name of the variable.
func Load(path string, into any) error {
	return LoadEnv(path, os.LookupEnv, into)
}

// LoadEnv is Load with an environment of the caller's.
func LoadEnv(path string, lookup func(string) (string, bool), into any) error {
	v := structOf(into)
	var errs []error
	if path != "" {
		errs = loadFile(path, v)
	}
	for _, k := range keys(nil, v, "") {
		s, ok := lookup(k.Env)
		if !ok || s == "" {
			continue
		}
		if err := set(k.field, s); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w", k.Env, err))
		}
	}
	return errors.Join(errs...)
}

func loadFile(path string, v reflect.Value) []error {
	b, err := readFile(path)
	if err != nil {
		return []error{err}
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return []error{syntaxError(path, err)}
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return []error{fmt.Errorf("%s: has more than one YAML document", path)}
	}
	d := decoder{file: path}
	d.section(doc.Content[0], v, "")
	return d.errs
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	if len(b) > maxFileSize {
		return nil, fmt.Errorf("configuration file %s is larger than %d bytes", path, maxFileSize)
	}
	return b, nil
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// syntaxError puts the line that yaml found into our form.
func syntaxError(path string, err error) error {
	msg := err.Error()
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		return fmt.Errorf("%s:%s: not YAML: %s", path, m[1], msg[len(m[0]):])
	}
	return fmt.Errorf("%s: not YAML: %s", path, strings.TrimPrefix(msg, "yaml: "))
}

// decoder fills a struct from YAML nodes and gathers what is wrong with them.
type decoder struct {
	file string
	errs []error
}

func (d *decoder) errorf(n *yaml.Node, format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf("%s:%d: %s", d.file, n.Line, fmt.Sprintf(format, args...)))
}

func (d *decoder) section(n *yaml.Node, v reflect.Value, prefix string) {
	if n = resolve(n); isNull(n) {
		return // "tls:" with every line below it commented out
	}
	name := strings.TrimSuffix(prefix, ".")
	if name == "" {
		name = "the configuration"
	}
	if n.Kind != yaml.MappingNode {
		d.errorf(n, "%s must have keys below it", name)
		return
	}
	fields := map[string]reflect.Value{}
	for i := range v.NumField() {
		fields[tag(v.Type().Field(i))] = v.Field(i)
	}
	seen := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		path := prefix + key.Value
		f, ok := fields[key.Value]
		switch {
		case !ok:
			d.errorf(key, "unknown key %q%s", path, didYouMean(prefix, key.Value, fields))
		case seen[key.Value] > 0:
			d.errorf(key, "key %q is there twice: first in line %d", path, seen[key.Value])
		case isSection(f):
			d.section(value, f, path+".")
		default:
			d.key(value, f, path)
		}
		seen[key.Value] = key.Line
	}
}

func (d *decoder) key(n *yaml.Node, f reflect.Value, path string) {
	n = resolve(n)
	var err error
	switch {
	case isNull(n):
		d.errorf(n, "%s has no value: give it one or remove it", path)
	case f.Kind() == reflect.Slice:
		err = list(n, f)
	case f.Kind() == reflect.Map:
		err = pairs(n, f)
	case n.Kind == yaml.ScalarNode:
		err = set(f, n.Value)
	default:
		err = errors.New("expected a single value")
	}
	if err != nil {
		d.errorf(n, "%s: %v", path, err)
	}
}

func list(n *yaml.Node, f reflect.Value) error {
	if n.Kind != yaml.SequenceNode {
		return errors.New("expected a list")
	}
	out := make([]string, 0, len(n.Content))
	for _, e := range n.Content {
		if e = resolve(e); e.Kind != yaml.ScalarNode || isNull(e) {
			return errors.New("expected a list of texts")
		}
		out = append(out, e.Value)
	}
	f.Set(reflect.ValueOf(out))
	return nil
}

func pairs(n *yaml.Node, f reflect.Value) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("expected name: value pairs")
	}
	out := map[string]string{}
	for i := 0; i < len(n.Content); i += 2 {
		value := resolve(n.Content[i+1])
		if value.Kind != yaml.ScalarNode || isNull(value) {
			return fmt.Errorf("expected a text for %s", n.Content[i].Value)
		}
		out[n.Content[i].Value] = value.Value
	}
	f.Set(reflect.ValueOf(out))
	return nil
}

func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// didYouMean ends a message about an unknown key: the nearest key if one is
// near, else all there are.
func didYouMean(prefix, name string, fields map[string]reflect.Value) string {
	best := nearest(strings.ToLower(name), slices.Sorted(maps.Keys(fields)))
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", prefix+best)
}

// nearest returns the first of the names that are nearest to name, "" if none is near.
func nearest(name string, names []string) string {
	best, distance := "", 3
	for _, n := range names {
		if d := levenshtein.ComputeDistance(name, n); d < distance {
			best, distance = n, d
		}
	}
	return best
}
