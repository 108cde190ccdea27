package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

func (p *program) infoVerb() *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:     "info ID",
		Short:   "Show all about a request: times, args, jobs",
		Example: "  treadle info d3k1b2v0s5mg00a1b2c0",
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
				return p.printJSON(r)
			}
			return p.info(r)
		},
	})
}

func (p *program) info(r proto.Request) error {
	t := newTable(p.stdout)
	t.row("id", r.ID)
	t.row("type", r.Type)
	t.row("state", r.State.String())
	if r.Reason != "" {
		t.row("reason", r.Reason)
	}
	if r.StopRequested && !r.State.Final() {
		t.row("stop", "requested")
	}
	t.row("jobs", jobs(r)+" complete")
	t.row("user", orDash(r.User))
	t.row("created", p.when(r.CreatedAt))
	t.row("started", p.whenPtr(r.StartedAt))
	t.row("finished", p.whenPtr(r.FinishedAt))
	if r.StartedAt != nil && r.FinishedAt != nil {
		t.row("took", length(r.FinishedAt.Sub(*r.StartedAt)))
	}
	if r.Host != "" {
		t.row("host", r.Host)
	}
	if r.JobRunnerURL != "" {
		t.row("runner", r.JobRunnerURL)
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := p.infoArgs(r.Args); err != nil {
		return err
	}
	return p.infoJobs(r.JobChain)
}

func (p *program) infoArgs(args []proto.RequestArg) error {
	if len(args) == 0 {
		return nil
	}
	if err := p.printf("\n"); err != nil {
		return err
	}
	t := newTable(p.stdout, "ARG", "VALUE", "FROM")
	for _, a := range args {
		t.row(a.Name, value(a.Value), argOrigin(a))
	}
	return t.flush()
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

func (p *program) infoJobs(jc *proto.JobChain) error {
	if jc == nil {
		return nil
	}
	if err := p.printf("\n"); err != nil {
		return err
	}
	t := newTable(p.stdout, "JOB", "NAME", "TYPE", "STATE", "RETRY")
	for _, l := range levels(jc) {
		if j := l.job; !j.Structural {
			t.row(j.ID, j.Name, j.Type, j.State.String(), retryText(j.Retry, j.RetryWait, j.RetryBackoff, j.RetryWaitMax))
		}
	}
	return t.flush()
}

// retryText says how often something is tried again, and how long it waits: "3,
// every 5s", "3, after 5s x2 up to 1m0s".
func retryText(retry uint, wait proto.Duration, backoff float64, most proto.Duration) string {
	switch {
	case retry == 0:
		return dash
	case wait == 0:
		return fmt.Sprint(retry)
	case backoff == 0:
		return fmt.Sprintf("%d, every %s", retry, wait)
	case most == 0:
		return fmt.Sprintf("%d, after %s x%g", retry, wait, backoff)
	}
	return fmt.Sprintf("%d, after %s x%g up to %s", retry, wait, backoff, most)
}
