package requests

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/request-manager/client"
)

func runningVerb(m *verb.Manager) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:   "running ID",
		Short: "Tell by the exit code whether a request has ended",
		Long: `Prints the state of a request. The exit code is 0 while it is PENDING, RUNNING or
SUSPENDED, and 1 once it is COMPLETE, FAIL or STOPPED.`,
		Example: "  while treadle running d3k1b2v0s5mg00a1b2c0; do sleep 5; done",
		Args:    verb.Takes(1, 1, "the ID of the request"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		r, err := api.GetRequest(ctx, requestID(args))
		if err != nil {
			return err
		}
		err = out.Show(withoutChain(r), func() error { return out.Printf("%s\n", r.State) })
		if err != nil {
			return err
		}
		if r.State.Final() {
			return verb.Exit(verb.ExitFailed)
		}
		return nil
	})
}
