package torture

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
)

// Violation is something that may never be.
type Violation struct {
	Rule string `json:"rule"`
	What string `json:"what"`
	// Evidence is all that is known of it, of several lines.
	Evidence string `json:"evidence,omitempty"`
}

// maxFindings bounds how many violations are kept.
const maxFindings = 1000

// Findings are the violations of a test so far. Its methods are safe for concurrent
// use; the zero value is ready.
type Findings struct {
	mu    sync.Mutex
	all   []Violation
	known map[Violation]bool // without evidence
}

// Add writes a violation down, the same one only once. What comes after the first line
// of the text is its evidence.
func (f *Findings) Add(rule, format string, args ...any) {
	what, evidence, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	v := Violation{Rule: rule, What: what}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[v] || len(f.all) >= maxFindings {
		return
	}
	if f.known == nil {
		f.known = map[Violation]bool{}
	}
	f.known[v] = true
	v.Evidence = evidence
	f.all = append(f.all, v)
}

// All returns the violations, in the order in which they were found.
func (f *Findings) All() []Violation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Violation{}, f.all...)
}

// maxEvidence is how much of a log is evidence, in bytes.
const maxEvidence = 2000

// CheckLog finds in the log of a process what none may ever say.
func (f *Findings) CheckLog(process, path string, marks ...string) {
	log, err := os.ReadFile(path)
	if err != nil {
		f.Add("logs", "%s: %v", process, err)
		return
	}
	for _, mark := range append([]string{"WARNING: DATA RACE", "panic: ", "fatal error: "}, marks...) {
		if at := bytes.Index(log, []byte(mark)); at >= 0 {
			f.Add("logs", "%s says %q\n%s", process, mark, log[at:min(len(log), at+maxEvidence)])
		}
	}
}
