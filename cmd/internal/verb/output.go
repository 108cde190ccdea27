package verb

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
)

// OutputFlag adds --output to a verb that has a result to print.
func OutputFlag(c *cobra.Command, out *term.Out) *cobra.Command {
	c.Flags().StringVar(&out.Format, "output", term.Text, "output `format`: text; wide for tables with all columns; json for the objects of the API")
	inner := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if !slices.Contains([]string{term.Text, term.Wide, term.JSON}, out.Format) {
			return Usagef("--output: expected text, wide or json, not %q", out.Format)
		}
		return inner(c, args)
	}
	return c
}
