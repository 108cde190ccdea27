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
		Short: "Drain a Job Runner: it hands back its job chains and accepts no more",
		Long: `Drains a Job Runner: it hands back its job chains, so that other runners resume them,
and accepts no more. RUNNER is its id or its URL; treadle runners lists both.`,
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
			return out.Printf("%s accepts job chains again\n", term.Clean(args[0]))
		}
		return out.Printf("%s is draining\n", term.Clean(args[0]))
	})
	c.Flags().BoolVar(&off, "off", false, "stop draining: accept job chains again")
	return c
}
