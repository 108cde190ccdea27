package requests

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

func statusVerb(m *verb.Manager) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:     "status ID",
		Short:   "Show the state of a request in one line",
		Example: "  treadle status d3k1b2v0s5mg00a1b2c0",
		Args:    verb.Takes(1, 1, "the ID of the request"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		r, err := api.GetRequest(ctx, requestID(args))
		if err != nil {
			return err
		}
		return showStatus(out, r)
	})
}

func showStatus(out *term.Out, r proto.Request) error {
	return out.Show(withoutChain(r), func() error { return out.Printf("%s\n", statusLine(r, out.Now())) })
}

func statusLine(r proto.Request, now time.Time) string {
	s := fmt.Sprintf("%s %s %s %s jobs", r.ID, term.Clean(r.Type), r.State, jobs(r))
	switch {
	case r.FinishedAt != nil:
		s += ", finished " + term.Age(now.Sub(*r.FinishedAt))
	case r.StartedAt != nil:
		s += ", started " + term.Age(now.Sub(*r.StartedAt))
	default:
		s += ", created " + term.Age(now.Sub(r.CreatedAt))
	}
	if r.StopRequested && !r.State.Final() {
		s += ", stopping"
	}
	if r.Reason != "" {
		s += ": " + term.Clean(r.Reason)
	}
	return s
}
