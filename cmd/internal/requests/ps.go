package requests

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

func psVerb(m *verb.Manager) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:   "ps [ID]",
		Short: "List running jobs, of all requests or of one",
		Example: `  treadle ps
  treadle ps d3k1b2v0s5mg00a1b2c0`,
		Args: verb.Takes(0, 1, "at most the ID of one request"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		id := ""
		if len(args) == 1 {
			id = requestID(args)
		}
		s, err := api.Running(ctx, id, "startTime")
		if err != nil {
			return err
		}
		return out.Show(s, func() error { return ps(out, s) })
	})
}

func ps(out *term.Out, s proto.RunningStatus) error {
	if len(s.Unreachable) > 0 {
		out.Say("these Job Runners do not answer, so their jobs are missing here: %s", term.Clean(strings.Join(s.Unreachable, ", ")))
	}
	if len(s.Jobs) == 0 {
		out.Say("no job is running")
		return nil
	}
	t := out.Table("ID", "REQUEST", "JOB", "NAME", "TRY", "RUNTIME", "STATUS")
	for _, j := range s.Jobs {
		t.Row(j.RequestID, term.OrDash(s.Requests[j.RequestID].Type), j.JobID, j.Name, fmt.Sprint(j.Try),
			term.Length(out.Now().Sub(time.Unix(0, j.StartedAt))), term.OrDash(term.Short(j.Status, 60)))
	}
	return t.Flush()
}
