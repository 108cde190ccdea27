package verb

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/request-manager/client"
)

// Listing says how a verb lists objects of the API in a table.
type Listing[T any] struct {
	// Ask asks for the list.
	Ask func(ctx context.Context, api *client.Client, args []string) ([]T, error)
	// None is said if the list is empty.
	None string
	// Header names the columns. Optional are those that a narrow terminal does without,
	// the one to leave out first in front.
	Header, Optional []string
	// Row returns the cells of one object: texts and times.
	Row func(T) []any
	// Page has the flags for a part of the list, nil for a verb without them.
	Page *Page
}

// List makes c a verb that lists objects of the API.
func List[T any](m *Manager, c *cobra.Command, l Listing[T]) *cobra.Command {
	return m.Verb(c, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		if l.Page != nil {
			if err := l.Page.check(); err != nil {
				return err
			}
		}
		list, err := l.Ask(ctx, api, args)
		if err != nil {
			return err
		}
		return out.Show(list, func() error { return l.print(out, list) })
	})
}

func (l Listing[T]) print(out *term.Out, list []T) error {
	if len(list) == 0 {
		out.Say("%s", l.None)
		return nil
	}
	t := out.Table(l.Header...).Optional(l.Optional...)
	for _, x := range list {
		t.Row(l.Row(x)...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if p := l.Page; p != nil && p.Limit > 0 && uint(len(list)) == p.Limit {
		out.Say("there may be more: --offset %d", p.Offset+p.Limit)
	}
	return nil
}

// Page is the part of a list that --limit and --offset name.
type Page struct{ Limit, Offset uint }

// Flags adds --limit and --offset; things are what is listed, note says what a limit
// of 0 means.
func (p *Page) Flags(c *cobra.Command, things, note string) {
	c.Flags().UintVar(&p.Limit, "limit", 50, "list at most this `number` of "+things+note)
	c.Flags().UintVar(&p.Offset, "offset", 0, "skip this `number` of "+things+" at the start")
}

func (p *Page) check() error {
	if p.Offset > 0 && p.Limit == 0 {
		return Usagef("--offset needs a --limit")
	}
	return nil
}

// Range is the time that --since and --until name.
type Range struct{ since, until string }

// Flags adds --since and --until, with their help.
func (r *Range) Flags(c *cobra.Command, since, until string) {
	c.Flags().StringVar(&r.since, "since", "", since)
	c.Flags().StringVar(&r.until, "until", "", until)
}

// Times reads the two flags; the zero time stands for a flag that is not given.
func (r *Range) Times(now time.Time) (since, until time.Time, err error) {
	if since, err = Time(now, "--since", r.since); err != nil {
		return since, until, err
	}
	until, err = Time(now, "--until", r.until)
	return since, until, err
}
