package cmd

import (
	"github.com/spf13/cobra"
)

func (p *program) helpVerb(root *cobra.Command) *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:   "help [TYPE | VERB]",
		Short: "Show the args of a request, or how a verb is used",
		Example: `  treadle help deploy
  treadle help start`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return root.Help()
			}
			if verb, _, err := root.Find(args); err == nil && verb != root {
				verb.InitDefaultHelpFlag()
				return verb.Help()
			}
			if len(args) > 1 {
				return usageErrorf("help takes one TYPE or VERB")
			}
			return p.requestHelp(c.Context(), args[0])
		},
	})
}
