package requests

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/request-manager/client"
)

func watchVerb(m *verb.Manager) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:   "watch ID",
		Short: "Watch a request until it ends",
		Long: `Shows the progress of a request until it ends, like start --wait. The exit code is the
result: 0 COMPLETE, 1 FAIL or STOPPED. Ctrl-C ends the watching, not the request.`,
		Example: "  treadle watch d3k1b2v0s5mg00a1b2c0",
		Args:    verb.Takes(1, 1, "the ID of the request"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		return waitFor(ctx, out, api, requestID(args))
	})
}
