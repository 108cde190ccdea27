package cmd

import (
	"github.com/spf13/cobra"
)

func (p *program) drainVerb() *cobra.Command {
	var off bool
	c := &cobra.Command{
		Use:   "drain RUNNER",
		Short: "Have a Job Runner hand in what it runs and take nothing new",
		Long: `Has a Job Runner hand in what it runs, so that other runners go on with it, and
take nothing new. RUNNER is its id or its URL; treadle runners lists both.`,
		Example: `  treadle drain http://10.0.0.7:32307
  treadle drain http://10.0.0.7:32307 --off`,
		Args: takes(1, 1, "the RUNNER, its id or URL"),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			if err := api.Drain(c.Context(), args[0], !off); err != nil {
				return err
			}
			switch {
			case p.json():
				return p.printJSON(map[string]any{"runner": args[0], "drain": !off})
			case off:
				return p.printf("%s takes new requests again\n", clean(args[0]))
			}
			return p.printf("%s drains\n", clean(args[0]))
		},
	}
	c.Flags().BoolVar(&off, "off", false, "end the draining")
	return p.clientVerb(c)
}
