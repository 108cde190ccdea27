package term

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table prints rows in columns.
type Table struct {
	w *tabwriter.Writer
}

// Table starts a table on stdout; without a header it has none.
func (o *Out) Table(header ...string) *Table {
	t := &Table{w: tabwriter.NewWriter(o.Stdout, 0, 0, 2, ' ', 0)}
	if len(header) > 0 {
		t.Row(header...)
	}
	return t
}

// Row adds a row. The writer keeps its first error until Flush.
func (t *Table) Row(cells ...string) {
	for i := range cells {
		cells[i] = Clean(cells[i])
	}
	_, _ = fmt.Fprintln(t.w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
}

// Flush prints the table.
func (t *Table) Flush() error { return t.w.Flush() }
