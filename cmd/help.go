package cmd

import (
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/requests"
	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/request-manager/client"
)

func helpVerb(root *cobra.Command, m *verb.Manager, out *term.Out) *cobra.Command {
	return m.Flags(&cobra.Command{
		Use:   "help [COMMAND | TYPE]",
		Short: "Show help for a command, or the args of a request type",
		Example: `  treadle help start
  treadle help deploy`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return root.Help()
			}
			if found, _, err := root.Find(args); err == nil && found != root {
				found.InitDefaultHelpFlag()
				return found.Help()
			}
			if len(args) > 1 {
				return verb.Usagef("help takes one COMMAND or one request TYPE")
			}
			return m.Do(func(api *client.Client) error { return requests.Help(c.Context(), api, out, args[0]) })
		},
	})
}
