package requests

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/levels"
	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

func infoVerb(m *verb.Manager) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:     "info ID",
		Short:   "Show the details of a request: times, args, jobs",
		Example: "  treadle info d3k1b2v0s5mg00a1b2c0",
		Args:    verb.Takes(1, 1, "the ID of the request"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		r, err := api.GetRequest(ctx, requestID(args))
		if err != nil {
			return err
		}
		return out.Show(r, func() error { return info(out, r) })
	})
}

func info(out *term.Out, r proto.Request) error {
	t := out.Table()
	t.Row("id", r.ID)
	t.Row("type", r.Type)
	t.Row("state", r.State.String())
	if r.Reason != "" {
		t.Row("reason", r.Reason)
	}
	if r.StopRequested && !r.State.Final() {
		t.Row("stop", "requested")
	}
	t.Row("jobs", jobs(r)+" complete")
	t.Row("user", term.OrDash(r.User))
	t.Row("created", r.CreatedAt)
	t.Row("started", r.StartedAt)
	t.Row("finished", r.FinishedAt)
	if r.StartedAt != nil && r.FinishedAt != nil {
		t.Row("took", term.Length(r.FinishedAt.Sub(*r.StartedAt)))
	}
	if r.Host != "" {
		t.Row("host", r.Host)
	}
	if r.JobRunnerURL != "" {
		t.Row("runner", r.JobRunnerURL)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := infoArgs(out, r.Args); err != nil {
		return err
	}
	return infoJobs(out, r.JobChain)
}

func infoArgs(out *term.Out, args []proto.RequestArg) error {
	if len(args) == 0 {
		return nil
	}
	if err := out.Printf("\n"); err != nil {
		return err
	}
	t := out.Table("ARG", "VALUE", "FROM")
	for _, a := range args {
		t.Row(a.Name, term.Value(a.Value), argOrigin(a))
	}
	return t.Flush()
}

// argOrigin says where the value of an arg comes from.
func argOrigin(a proto.RequestArg) string {
	switch {
	case a.Type == proto.ArgStatic:
		return "static"
	case a.Given:
		return "given"
	}
	return "default"
}

func infoJobs(out *term.Out, jc *proto.JobChain) error {
	if jc == nil {
		return nil
	}
	if err := out.Printf("\n"); err != nil {
		return err
	}
	t := out.Table("JOB", "NAME", "TYPE", "STATE", "RETRY")
	for _, j := range levels.Of(jc) {
		if !j.Structural {
			t.Row(j.ID, j.Name, j.Type, j.State.String(), term.Retry(j.Retry, j.RetryWait, j.RetryBackoff, j.RetryWaitMax))
		}
	}
	return t.Flush()
}
