package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/treadle-run/treadle/proto"
)

// table prints rows in columns.
type table struct {
	w *tabwriter.Writer
}

// newTable begins a table; without a header it has none.
func newTable(w io.Writer, header ...string) *table {
	t := &table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	if len(header) > 0 {
		t.row(header...)
	}
	return t
}

// row adds a row. The writer keeps its first error until flush.
func (t *table) row(cells ...string) {
	for i := range cells {
		cells[i] = clean(cells[i])
	}
	_, _ = fmt.Fprintln(t.w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
}

func (t *table) flush() error { return t.w.Flush() }

// clean makes s safe for one line of a terminal: what jobs and users write may
// have line ends and escape sequences.
func clean(s string) string {
	if strings.IndexFunc(s, isUnsafe) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isUnsafe(r) {
			return ' '
		}
		return r
	}, s)
}

func isUnsafe(r rune) bool { return unicode.IsControl(r) }

// short cuts s to one line of at most n characters.
func short(s string, n int) string {
	s = strings.TrimSpace(s)
	if line, _, more := strings.Cut(s, "\n"); more {
		s = line + " ..."
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}

// dash stands for a cell without a value.
const dash = "-"

func orDash(s string) string {
	if s == "" {
		return dash
	}
	return s
}

// value writes the value of an arg as text: a string as it is, others as JSON.
func value(x any) string {
	if x == nil {
		return dash
	}
	if s, ok := x.(string); ok && s == "" {
		return `""`
	}
	return proto.Text(x)
}

const timeLayout = "2006-01-02 15:04:05"

// when writes a time in the local zone with its age, or how far off it is.
func (p *program) when(t time.Time) string {
	if t.IsZero() {
		return dash
	}
	return fmt.Sprintf("%s (%s)", t.Local().Format(timeLayout), age(p.now().Sub(t)))
}

func (p *program) whenPtr(t *time.Time) string {
	if t == nil {
		return dash
	}
	return p.when(*t)
}

func age(d time.Duration) string {
	switch {
	case d < -5*time.Second:
		return "in " + span(-d)
	case d < 0:
		return "now" // clocks differ a little
	}
	return span(d) + " ago"
}

// span writes a length of time in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// length writes how long something took, with no more digits than are read.
func length(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// jobs writes how many jobs are done of all.
func jobs(r proto.Request) string {
	return fmt.Sprintf("%d/%d", r.FinishedJobs, r.TotalJobs)
}

// The values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

func (p *program) json() bool { return p.output == outputJSON }

// printJSON prints the API's object.
func (p *program) printJSON(x any) error {
	enc := json.NewEncoder(p.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(x)
}

// printf prints a result.
func (p *program) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(p.stdout, format, args...)
	return err
}
