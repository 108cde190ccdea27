package cmd

import (
	"github.com/spf13/cobra"
)

func (p *program) watchVerb() *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:   "watch ID",
		Short: "Show how a request runs until it ends",
		Long: `Shows how a request runs until it ends, as start --wait does. The exit code is the
result: 0 COMPLETE, 1 FAIL or STOPPED. Ctrl-C ends the watching, not the request.`,
		Example: "  treadle watch d3k1b2v0s5mg00a1b2c0",
		Args:    takes(1, 1, "the ID of the request"),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			return p.wait(c.Context(), api, requestID(args))
		},
	})
}
