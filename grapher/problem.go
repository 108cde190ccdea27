package grapher

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
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
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
		fmt.Fprintf(&b, "sequence %s", plain(p.Sequence))
		if p.Node != "" {
			fmt.Fprintf(&b, ", node %s", plain(p.Node))
		}
		b.WriteString(": ")
	}
	if p.App != "" {
		fmt.Fprintf(&b, "app %s: ", plain(p.App))
	}
	fmt.Fprintf(&b, "%s (%s)", p.Message, p.Check)
	return b.String()
}

// Problems is a list of problems, sorted by file and line.
type Problems []Problem

// HasErrors reports whether one of the problems is an error.
func (p Problems) HasErrors() bool {
	return slices.ContainsFunc(p, func(x Problem) bool { return x.Severity == SeverityError })
}

// maxProblems is the most errors, and the most warnings, that one file or all
// checks together report. Nobody reads more, and a hostile file could have billions.
const maxProblems = 10_000

// problemList gathers problems up to the bound.
type problemList struct {
	problems         Problems
	errors, warnings int
}

func (l *problemList) add(p Problem) {
	n := &l.errors
	if p.Severity == SeverityWarning {
		n = &l.warnings
	}
	if *n++; *n <= maxProblems {
		l.problems = append(l.problems, p)
	}
}

// sorted returns the problems by file, line, check and message, each once: a
// part of a file that is used by several aliases is read several times.
func (p Problems) sorted() Problems {
	slices.SortFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Check, b.Check),
			cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.Node, b.Node), cmp.Compare(a.App, b.App), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(p)
}
