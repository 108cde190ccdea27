package term

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Table prints rows in columns that fit the width of the terminal. What is too wide
// is made narrower in this order: text in the last column is wrapped, times are shown
// by age alone, the last column goes below its row, optional columns are left out, other
// columns are wrapped. Words are never cut: ids can always be copied.
type Table struct {
	out      *Out
	header   []string
	optional []string
	rows     [][]cell
}

// cell is what a table has in one place: a text, or a time in two lengths.
type cell struct {
	full, short string
	isTime      bool
}

func (c cell) text(short bool) string {
	if short && c.isTime {
		return c.short
	}
	return c.full
}

// Table starts a table on stdout; without a header it has none.
func (o *Out) Table(header ...string) *Table { return &Table{out: o, header: header} }

// Optional names columns that may be left out if the table is too wide, the one to
// leave out first in front.
func (t *Table) Optional(columns ...string) *Table {
	t.optional = columns
	return t
}

// Row adds a row of texts and times; a time is a time.Time or a *time.Time.
func (t *Table) Row(cells ...any) {
	row := make([]cell, len(cells))
	for i, c := range cells {
		row[i] = t.cell(c)
	}
	t.rows = append(t.rows, row)
}

func (t *Table) cell(x any) cell {
	switch x := x.(type) {
	case string:
		return cell{full: Clean(x)}
	case time.Time:
		return t.timeCell(x)
	case *time.Time:
		if x == nil {
			return t.timeCell(time.Time{})
		}
		return t.timeCell(*x)
	}
	return cell{full: Clean(fmt.Sprint(x))}
}

func (t *Table) timeCell(x time.Time) cell {
	c := cell{full: t.out.When(x), isTime: true}
	if c.short = c.full; !x.IsZero() {
		c.short = Age(t.out.Now().Sub(x))
	}
	return c
}

// Flush prints the table.
func (t *Table) Flush() error {
	l := t.fit(t.out.width())
	if len(t.header) > 0 {
		header := make([]cell, len(t.header))
		for i, h := range t.header {
			header[i] = cell{full: h}
		}
		if l.below >= 0 && t.isBlank(l.below) {
			l.below = -1
		}
		if err := l.print(t.out.Stdout, header); err != nil {
			return err
		}
	}
	for _, row := range t.rows {
		if err := l.print(t.out.Stdout, row); err != nil {
			return err
		}
	}
	if len(l.left) > 0 {
		t.out.Say("columns omitted because the table is too wide: %s; --output wide shows all", strings.Join(l.left, ", "))
	}
	return nil
}

// layout is how the columns of a table are printed.
type layout struct {
	columns []int    // those that are printed side by side, by number
	widths  []int    // of each of columns
	below   int      // the column that goes below its row, -1 for none
	short   bool     // times by age alone
	width   int      // of the terminal
	left    []string // names of columns that are left out
}

const (
	gap    = 2  // spaces between columns
	indent = 4  // of what goes below a row
	roomy  = 30 // the width at which text in the last column is still easy to read
)

// fit chooses the first layout that fits the width; 0 is no limit.
func (t *Table) fit(width int) layout {
	n := len(t.header)
	for _, row := range t.rows {
		n = max(n, len(row))
	}
	l := layout{below: -1, width: width}
	for i := range n {
		l.columns = append(l.columns, i)
	}
	if t.try(&l) {
		return l
	}
	l.short = true
	for left := 0; ; left++ {
		if t.try(&l) {
			return l
		}
		if last := n - 1; len(t.header) > 0 && n > 1 && t.isText(last) && !slices.Contains(t.optional, t.header[last]) {
			below := l
			below.below = last
			below.columns = slices.DeleteFunc(slices.Clone(l.columns), func(i int) bool { return i == last })
			if t.try(&below) {
				return below
			}
		}
		if left == len(t.optional) {
			break
		}
		i := slices.Index(t.header, t.optional[left])
		l.columns = slices.DeleteFunc(slices.Clone(l.columns), func(c int) bool { return c == i })
		l.left = t.optional[:left+1]
	}
	t.squeeze(&l)
	return l
}

// try sets the widths of the layout, and reports whether it fits with no column
// wrapped but the last.
func (t *Table) try(l *layout) bool {
	l.widths = nil
	total := -gap
	for _, c := range l.columns {
		natural, _ := t.measure(c, l.short)
		l.widths = append(l.widths, natural)
		total += natural + gap
	}
	if l.width == 0 || total <= l.width || len(l.columns) == 0 {
		return true
	}
	last := len(l.columns) - 1
	if c := l.columns[last]; t.isText(c) && l.below < 0 {
		_, word := t.measure(c, l.short)
		room := l.width - (total - l.widths[last])
		if room >= max(word, roomy) {
			l.widths[last] = room
			return true
		}
	}
	return false
}

// squeeze wraps the widest columns until the table fits, or no column can be wrapped
// any more.
func (t *Table) squeeze(l *layout) {
	total := -gap
	for _, w := range l.widths {
		total += w + gap
	}
	for ; total > l.width; total-- {
		widest := -1
		for i, c := range l.columns {
			if _, word := t.measure(c, l.short); l.widths[i] > word && (widest < 0 || l.widths[i] > l.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		l.widths[widest]--
	}
}

// measure returns the width of a column, and that of its longest word, below which
// it is not wrapped. A time is not wrapped.
func (t *Table) measure(column int, short bool) (natural, word int) {
	see := func(s string, whole bool) {
		natural = max(natural, utf8.RuneCountInString(s))
		if whole {
			word = max(word, utf8.RuneCountInString(s))
			return
		}
		for w := range strings.FieldsSeq(s) {
			word = max(word, utf8.RuneCountInString(w))
		}
	}
	if column < len(t.header) {
		see(t.header[column], true)
	}
	for _, row := range t.rows {
		if column < len(row) {
			see(row[column].text(short), row[column].isTime)
		}
	}
	return natural, word
}

// isText reports whether the column has texts, which can be wrapped.
func (t *Table) isText(column int) bool {
	return slices.ContainsFunc(t.rows, func(row []cell) bool { return column < len(row) && !row[column].isTime })
}

// isBlank reports whether no cell of the column has a value.
func (t *Table) isBlank(column int) bool {
	return !slices.ContainsFunc(t.rows, func(row []cell) bool { return column < len(row) && row[column].full != Dash && row[column].full != "" })
}

// print prints one row, over as many lines as its cells need.
func (l *layout) print(w io.Writer, row []cell) error {
	cells := make([][]string, len(l.columns))
	lines := 1
	for i, c := range l.columns {
		if c < len(row) {
			cells[i] = wrap(row[c].text(l.short), l.widths[i])
			lines = max(lines, len(cells[i]))
		}
	}
	var b strings.Builder
	for n := range lines {
		var line strings.Builder
		for i, c := range cells {
			text := ""
			if n < len(c) {
				text = c[n]
			}
			line.WriteString(text)
			line.WriteString(strings.Repeat(" ", max(0, l.widths[i]-utf8.RuneCountInString(text))+gap))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	if l.below >= 0 && l.below < len(row) && row[l.below].full != Dash && row[l.below].full != "" {
		for _, line := range wrap(row[l.below].full, l.width-indent) {
			b.WriteString(strings.Repeat(" ", indent) + line + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap cuts s at spaces into lines of at most width characters; a longer word has a
// line of its own. Text that fits is left as it is.
func wrap(s string, width int) []string {
	if utf8.RuneCountInString(s) <= width {
		return []string{s}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
