package cmd

import (
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

func (p *program) runningVerb() *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:   "running ID",
		Short: "Exit 0 if a request has not ended yet, 1 if it has",
		Long: `Says whether a request has not ended yet. The exit code is 0 while the request is
PENDING, RUNNING or SUSPENDED, and 1 once it is COMPLETE, FAIL or STOPPED.`,
		Example: "  while treadle running d3k1b2v0s5mg00a1b2c0; do sleep 5; done",
		Args:    takes(1, 1, "the ID of the request"),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			r, err := api.GetRequest(c.Context(), requestID(args))
			if err != nil {
				return err
			}
			if err := p.running(r); err != nil {
				return err
			}
			if r.State.Final() {
				return silentExit(exitFailed)
			}
			return nil
		},
	})
}

func (p *program) running(r proto.Request) error {
	if p.json() {
		r.JobChain = nil
		return p.printJSON(r)
	}
	return p.printf("%s\n", r.State)
}
