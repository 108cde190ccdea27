package requests

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/request-manager/client"
)

func stopVerb(m *verb.Manager) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:   "stop ID",
		Short: "Stop a request: no job starts any more, running jobs are told to stop",
		Long: `Stops a request: no job starts any more, and running jobs are told to stop. Once they
have ended, the request is STOPPED. A stop cannot be undone.`,
		Example: "  treadle stop d3k1b2v0s5mg00a1b2c0",
		Args:    verb.Takes(1, 1, "the ID of the request"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		id := requestID(args)
		if err := api.StopRequest(ctx, id); err != nil {
			return err
		}
		r, err := api.GetRequest(ctx, id)
		if err != nil {
			return err
		}
		return showStatus(out, r)
	})
}
