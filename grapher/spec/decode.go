package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/treadle-run/treadle/grapher/problem"
)

// File is what a spec file has.
type File struct {
	Sequences []*Sequence // also those that are defined twice
	Apps      []*App
	Problems  problem.List
}

// Decode decodes a file of at most limit bytes. Severity says how bad a problem of a
// check is.
func Decode(name string, b []byte, limit int, severity func(check string) problem.Severity) File {
	d := newDecoder(name, severity)
	d.file(b, limit)
	return File{d.sequences, d.apps, d.Problems}
}

// decoder turns one file into sequences and apps. It goes on after a problem, so that
// all of a file are found in one go.
type decoder struct {
	name      string
	severity  func(check string) problem.Severity
	sequences []*Sequence
	apps      []*App
	suggest   *problem.Suggester
	problem.Collector

	// What is being decoded, for problems.
	sequence, node, app string
}

func newDecoder(name string, severity func(check string) problem.Severity) *decoder {
	return &decoder{name: name, severity: severity, suggest: problem.NewSuggester()}
}

// report adds a problem under the name of a check.
func (d *decoder) report(check string, line int, format string, args ...any) {
	d.Add(problem.Problem{
		File: d.name, Line: line, Check: check, Severity: d.severity(check),
		Sequence: d.sequence, Node: d.node, App: d.app, Message: fmt.Sprintf(format, args...),
	})
}

// documentFields are the top-level keys of a document.
var documentFields = []field[decoder]{
	{"sequences", func(d *decoder, e entry, _ *decoder) { d.decodeSequences(e.value) }},
	{"apps", func(d *decoder, e entry, _ *decoder) { d.decodeApps(e.value) }},
}

// file decodes all documents of a file.
func (d *decoder) file(b []byte, limit int) {
	if len(b) > limit {
		d.report("file-size", 1, "the file has more than %d bytes; split it: sequences may use those of other files", limit)
		return
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	for {
		var doc yaml.Node
		err := decodeNode(dec, &doc)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			line, message := syntaxError(err)
			d.report("yaml", line, "not YAML: %s", message)
			return
		}
		d.document(&doc)
	}
}

func (d *decoder) document(doc *yaml.Node) {
	if len(doc.Content) == 0 {
		return
	}
	root := doc.Content[0]
	if line, check, message := guard(doc); check != "" {
		d.report(check, line, "%s", message)
		return
	}
	if isNull(root) {
		return
	}
	decodeFields(d, root, documentFields, "a spec file", d)
}

// decodeNode reads the next document. The parser panics on some malformed input;
// that is a syntax error like any other.
func decodeNode(dec *yaml.Decoder, doc *yaml.Node) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("yaml: %v", v)
		}
	}()
	return dec.Decode(doc)
}

var syntaxLine = regexp.MustCompile(`^(?:line ([0-9]+): )?(.*)`)

// syntaxError takes an error of the YAML parser apart. It names no line for the
// first one.
func syntaxError(err error) (line int, message string) {
	m := syntaxLine.FindStringSubmatch(strings.TrimPrefix(err.Error(), "yaml: "))
	line, message = 1, m[2]
	if n, err := strconv.Atoi(m[1]); err == nil {
		line = n
	}
	if strings.Contains(message, "cannot start any token") {
		message += " (a tab? indent with spaces; a value that starts with @, % or a backtick needs quotes)"
	}
	if strings.Contains(message, "did not find expected alphabetic or numeric character") {
		message += " (a value that starts with * or & needs quotes)"
	}
	return line, message
}

// Bounds on what one document may unfold to. They are far above what anybody
// writes, and keep the work for a hostile file small.
const (
	maxDepth    = 100     // levels of lists and objects in each other
	maxUnfolded = 100_000 // more nodes by aliases than the file has
)

// guard refuses a document that is nested too deeply, or that aliases make too
// large, before anything walks it. It takes time in proportion to the file.
func guard(doc *yaml.Node) (line int, check, message string) {
	g := guardWalk{sizes: map[*yaml.Node]extent{}}
	x := g.extent(doc, 0)
	switch {
	case g.cycle != nil:
		return g.cycle.Line, "alias-bomb", "the alias " + problem.Quote(g.cycle.Value) + " stands inside of what it refers to"
	case g.deep != nil:
		return g.deep.Line, "nesting", fmt.Sprintf("nested deeper than %d levels", maxDepth)
	case x.size-g.count > maxUnfolded:
		return g.worst.Line, "alias-bomb", fmt.Sprintf("aliases make the file larger by more than %d values", maxUnfolded)
	}
	return 0, "", ""
}

// extent is how many nodes a node has with all below it, aliases unfolded, and
// how many levels.
type extent struct{ size, depth int }

type guardWalk struct {
	count       int                   // nodes as they stand in the file
	sizes       map[*yaml.Node]extent // of nodes that have an anchor; a size of 0 is not known yet
	cycle, deep *yaml.Node
	worst       *yaml.Node // the alias that unfolds to most
	worstSize   int
}

func (g *guardWalk) extent(n *yaml.Node, level int) extent {
	if level > maxDepth+1 { // the document itself is a level
		if g.deep == nil {
			g.deep = n
		}
		return extent{1, 1}
	}
	if n.Kind == yaml.AliasNode {
		return g.alias(n, level)
	}
	g.count++
	if n.Anchor != "" {
		g.sizes[n] = extent{}
	}
	x := extent{size: 1}
	for _, child := range n.Content {
		c := g.extent(child, level+1)
		x.size = min(x.size+c.size, 1<<40)
		x.depth = max(x.depth, c.depth)
	}
	x.depth++
	if n.Anchor != "" {
		g.sizes[n] = x
	}
	return x
}

// alias returns the extent of what an alias stands for. That is known: an anchor
// comes before its aliases in a file.
func (g *guardWalk) alias(n *yaml.Node, level int) extent {
	g.count++
	x := g.sizes[n.Alias]
	if x.size == 0 {
		if g.cycle == nil {
			g.cycle = n
		}
		return extent{1, 1}
	}
	if level+x.depth > maxDepth+2 && g.deep == nil {
		g.deep = n
	}
	if g.worst == nil || x.size > g.worstSize {
		g.worst, g.worstSize = n, x.size
	}
	return x
}
