package fleet

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/request-manager/client"
)

func drainVerb(m *verb.Manager) *cobra.Command {
	var off bool
	c := m.Verb(&cobra.Command{
		Use:   "drain RUNNER",
		Short: "Have a Job Runner hand in what it runs and take nothing new",
		Long: `Has a Job Runner hand in what it runs, so that other runners go on with it, and
take nothing new. RUNNER is its id or its URL; treadle runners lists both.`,
		Example: `  treadle drain http://10.0.0.7:32307
  treadle drain http://10.0.0.7:32307 --off`,
		Args: verb.Takes(1, 1, "the RUNNER, its id or URL"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		if err := api.Drain(ctx, args[0], !off); err != nil {
			return err
		}
		switch {
		case out.JSON():
			return out.PrintJSON(map[string]any{"runner": args[0], "drain": !off})
		case off:
			return out.Printf("%s takes new requests again\n", term.Clean(args[0]))
		}
		return out.Printf("%s drains\n", term.Clean(args[0]))
	})
	c.Flags().BoolVar(&off, "off", false, "end the draining")
	return c
}
