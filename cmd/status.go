package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

func (p *program) statusVerb() *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:     "status ID",
		Short:   "Say in one line how a request is",
		Example: "  treadle status d3k1b2v0s5mg00a1b2c0",
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
			if p.json() {
				r.JobChain = nil
				return p.printJSON(r)
			}
			return p.printf("%s\n", p.statusLine(r))
		},
	})
}

func (p *program) statusLine(r proto.Request) string {
	s := fmt.Sprintf("%s %s %s %s jobs", r.ID, clean(r.Type), r.State, jobs(r))
	switch {
	case r.FinishedAt != nil:
		s += ", ended " + age(p.now().Sub(*r.FinishedAt))
	case r.StartedAt != nil:
		s += ", started " + age(p.now().Sub(*r.StartedAt))
	default:
		s += ", created " + age(p.now().Sub(r.CreatedAt))
	}
	if r.StopRequested && !r.State.Final() {
		s += ", stopping"
	}
	if r.Reason != "" {
		s += ": " + clean(r.Reason)
	}
	return s
}
