package cmd

import (
	"github.com/spf13/cobra"
)

func (p *program) stopVerb() *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:   "stop ID",
		Short: "Stop a request: nothing new starts, what runs is told to stop",
		Long: `Stops a request: nothing new starts, and what runs is told to stop. The request
then ends as STOPPED, which may take as long as its jobs need. A stop is never
taken back.`,
		Example: "  treadle stop d3k1b2v0s5mg00a1b2c0",
		Args:    takes(1, 1, "the ID of the request"),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			id := requestID(args)
			if err := api.StopRequest(c.Context(), id); err != nil {
				return err
			}
			r, err := api.GetRequest(c.Context(), id)
			if err != nil {
				return err
			}
			if p.json() {
				r.JobChain = nil
				return p.printJSON(r)
			}
			return p.printf("%s\n", p.statusLine(r))
		},
	})
}
