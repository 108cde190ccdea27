package term

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// The formats of results.
const (
	Text = "text" // tables fit the terminal
	Wide = "wide" // as text, but tables have all columns, and each row is one line
	JSON = "json"
)

// Out is where a verb prints to. Format is set when the flags are read.
type Out struct {
	Stdout, Stderr io.Writer
	Now            func() time.Time
	Format         string // Text, Wide or JSON
	Columns        string // the width if stdout is no terminal, as in $COLUMNS; "" is 80
}

// JSON reports whether results are printed as JSON.
func (o *Out) JSON() bool { return o.Format == JSON }

// Show prints a result: x as JSON, or else what the function text prints.
func (o *Out) Show(x any, text func() error) error {
	if o.JSON() {
		return o.PrintJSON(x)
	}
	return text()
}

// PrintJSON prints a result as JSON, such as an object of the API.
func (o *Out) PrintJSON(x any) error {
	enc := json.NewEncoder(o.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(x)
}

// Printf prints a result as text.
func (o *Out) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(o.Stdout, format, args...)
	return err
}

// Say prints a line for the user that is no result, on stderr.
func (o *Out) Say(format string, args ...any) {
	// If stderr is gone, there is no place to report that.
	_, _ = fmt.Fprintf(o.Stderr, format+"\n", args...)
}

const defaultWidth = 80

// width is how many characters a line of a table may have; 0 is no limit.
func (o *Out) width() int {
	if o.Format == Wide {
		return 0
	}
	if tty, ok := Terminal(o.Stdout); ok {
		return terminalWidth(tty)
	}
	if n, err := strconv.Atoi(o.Columns); err == nil && n > 0 {
		return n
	}
	return defaultWidth
}
