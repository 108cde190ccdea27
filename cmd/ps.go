package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

func (p *program) psVerb() *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:   "ps [ID]",
		Short: "List the jobs that run now, of all requests or of one",
		Example: `  treadle ps
  treadle ps d3k1b2v0s5mg00a1b2c0`,
		Args: takes(0, 1, "at most the ID of one request"),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			id := ""
			if len(args) == 1 {
				id = requestID(args)
			}
			s, err := api.Running(c.Context(), id, "startTime")
			if err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(s)
			}
			return p.ps(s)
		},
	})
}

func (p *program) ps(s proto.RunningStatus) error {
	if len(s.Unreachable) > 0 {
		p.say("not shown, since these runners do not answer: %s", clean(strings.Join(s.Unreachable, ", ")))
	}
	if len(s.Jobs) == 0 {
		p.say("nothing runs")
		return nil
	}
	t := newTable(p.stdout, "ID", "REQUEST", "JOB", "NAME", "TRY", "RUNTIME", "STATUS")
	for _, j := range s.Jobs {
		t.row(j.RequestID, orDash(s.Requests[j.RequestID].Type), j.JobID, j.Name, fmt.Sprint(j.Try),
			length(p.now().Sub(time.Unix(0, j.StartedAt))), orDash(short(j.Status, 60)))
	}
	return t.flush()
}
