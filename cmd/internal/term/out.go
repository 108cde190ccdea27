package term

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// The formats of results.
const (
	Text = "text"
	JSON = "json"
)

// Out is where a verb prints to. Format is set when the flags are read.
type Out struct {
	Stdout, Stderr io.Writer
	Now            func() time.Time
	Format         string // Text or JSON
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
