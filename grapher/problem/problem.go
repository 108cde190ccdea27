// Package problem is how a mistake in a spec file is told: where it is, which check
// found it, and a message that quotes names safely and guesses what was meant.
//
// It knows nothing of specs. It may import proto.
package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says whether a problem keeps specs from being used.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is something that is wrong in a spec file.
type Problem struct {
	File     string   `json:"file"` // relative to the specs directory, with slashes
	Line     int      `json:"line"` // 1, 2, ...
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Sequence string   `json:"sequence,omitempty"` // the sequence that it is in, if any
	Node     string   `json:"node,omitempty"`     // the node that it is in, if any
	App      string   `json:"app,omitempty"`      // the app that it is in, if any
	Message  string   `json:"message"`            // what is wrong, and what would be right
}

// String returns the problem on one line, the place first:
// "a.yaml:3: error: sequence x, node y: message (check-name)".
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: %s: ", p.File, p.Line, p.Severity)
	if p.Sequence != "" {
		fmt.Fprintf(&b, "sequence %s", Plain(p.Sequence))
		if p.Node != "" {
			fmt.Fprintf(&b, ", node %s", Plain(p.Node))
		}
		b.WriteString(": ")
	}
	if p.App != "" {
		fmt.Fprintf(&b, "app %s: ", Plain(p.App))
	}
	fmt.Fprintf(&b, "%s (%s)", p.Message, p.Check)
	return b.String()
}

// List is a list of problems, sorted by file and line.
type List []Problem

// HasErrors reports whether one of the problems is an error.
func (p List) HasErrors() bool {
	return slices.ContainsFunc(p, func(x Problem) bool { return x.Severity == Error })
}

// Limit is the limit of errors, and of warnings, that one file or all
// checks together report. Nobody reads more, and a hostile file could have billions.
const Limit = 10_000

// Collector gathers problems up to the bound.
type Collector struct {
	Problems         List
	errors, warnings int
}

// Add takes a problem in, unless there are too many already.
func (l *Collector) Add(p Problem) {
	n := &l.errors
	if p.Severity == Warning {
		n = &l.warnings
	}
	if *n++; *n <= Limit {
		l.Problems = append(l.Problems, p)
	}
}

// Sorted returns the problems by file, line, check and message, each once: a
// part of a file that is used by several aliases is read several times.
func (p List) Sorted() List {
	slices.SortFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Check, b.Check),
			cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.Node, b.Node), cmp.Compare(a.App, b.App), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(p)
}
