package cmd

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// progress shows what happens while the program waits: one line that is drawn
// again and again on a terminal, lines that differ elsewhere.
type progress struct {
	w    io.Writer
	tty  *os.File // nil if w is no terminal
	last string
}

// progress goes to stdout, or to stderr if stdout is for JSON.
func (p *program) progress() *progress {
	s := &progress{w: p.stdout}
	if p.json() {
		s.w = p.stderr
	}
	s.tty, _ = terminal(s.w)
	return s
}

const (
	defaultWidth = 80
	clearLine    = "\r\x1b[2K"
)

// show replaces the line. Errors in writing are left alone here: waiting goes on
// for the exit code.
func (s *progress) show(line string) {
	if line == s.last {
		return
	}
	s.last = line
	if s.tty == nil {
		_, _ = fmt.Fprintln(s.w, line)
		return
	}
	width, _, err := term.GetSize(int(s.tty.Fd()))
	if err != nil || width <= 0 {
		width = defaultWidth
	}
	if r := []rune(line); len(r) >= width {
		line = string(r[:width-1])
	}
	_, _ = fmt.Fprint(s.w, clearLine+line)
}

// note prints a line that stays.
func (s *progress) note(format string, args ...any) {
	s.end()
	_, _ = fmt.Fprintf(s.w, format+"\n", args...)
}

// end removes the line that is drawn again and again.
func (s *progress) end() {
	if s.tty != nil && s.last != "" {
		_, _ = fmt.Fprint(s.w, clearLine)
	}
	s.last = ""
}
