package verb

import (
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
)

// OutputFlag adds --output to a verb that has a result to print.
func OutputFlag(c *cobra.Command, out *term.Out) *cobra.Command {
	c.Flags().StringVar(&out.Format, "output", term.Text, "output `format`: text, or json for the objects of the API")
	inner := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if out.Format != term.Text && out.Format != term.JSON {
			return Usagef("--output: %q is neither text nor json", out.Format)
		}
		return inner(c, args)
	}
	return c
}
