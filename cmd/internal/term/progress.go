package term

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Terminal returns the file if f is a terminal.
func Terminal(f any) (*os.File, bool) {
	file, ok := f.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, false
	}
	return file, true
}

func terminalWidth(tty *os.File) int {
	width, _, err := term.GetSize(int(tty.Fd()))
	if err != nil || width <= 0 {
		return defaultWidth
	}
	return width
}

// Progress shows what happens while the program waits: on a terminal one line that
// is redrawn, elsewhere a line for each change.
type Progress struct {
	w    io.Writer
	tty  *os.File // nil if w is no terminal
	last string
}

// Progress goes to stdout, or to stderr if stdout is for JSON.
func (o *Out) Progress() *Progress {
	p := &Progress{w: o.Stdout}
	if o.JSON() {
		p.w = o.Stderr
	}
	p.tty, _ = Terminal(p.w)
	return p
}

// Redraws reports whether the line is redrawn, so that a change costs no line.
func (p *Progress) Redraws() bool { return p.tty != nil }

const clearLine = "\r\x1b[2K"

// Show replaces the line. Errors of writing are ignored: the exit code still counts.
func (p *Progress) Show(line string) {
	if line == p.last {
		return
	}
	p.last = line
	if p.tty == nil {
		_, _ = fmt.Fprintln(p.w, line)
		return
	}
	width := terminalWidth(p.tty)
	if r := []rune(line); len(r) >= width {
		line = string(r[:width-1])
	}
	_, _ = fmt.Fprint(p.w, clearLine+line)
}

// Note prints a line that stays.
func (p *Progress) Note(format string, args ...any) {
	p.End()
	_, _ = fmt.Fprintf(p.w, format+"\n", args...)
}

// End removes the line that is redrawn.
func (p *Progress) End() {
	if p.tty != nil && p.last != "" {
		_, _ = fmt.Fprint(p.w, clearLine)
	}
	p.last = ""
}
