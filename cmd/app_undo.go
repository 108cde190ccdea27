package cmd

import (
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

const appUndoLong = `Says what becomes of an instance that failed and whose undo keeps failing. It is tried
again by itself, after longer and longer waits; until it succeeds, later instances of the
app wait. --retry tries it now. --give-up ends the instance: it has FAILED, what it left
stays, and the app goes on.`

func (p *program) appUndoVerb() *cobra.Command {
	var retry, giveUp bool
	c := &cobra.Command{
		Use:     "undo NAME INSTANCE",
		Short:   "Try an undo that keeps failing now, or give it up",
		Long:    appUndoLong,
		Example: "  treadle app undo counter 2011-01-02-1300-counter --retry",
		Args:    takes(2, 2, "the NAME of the app and the INSTANCE; treadle instances lists them"),
		RunE: func(c *cobra.Command, args []string) error {
			if retry == giveUp {
				return usageErrorf("what is to be done? give --retry or --give-up")
			}
			u, done := proto.UndoInstance{Instance: args[1], Do: proto.UndoRetry}, "is undone now"
			if giveUp {
				u.Do, done = proto.UndoGiveUp, "has FAILED, its undo is given up"
			}
			api, err := p.client()
			if err != nil {
				return err
			}
			if err := api.UndoInstance(c.Context(), args[0], u); err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(map[string]any{"app": args[0], "instance": u.Instance, "do": u.Do})
			}
			return p.printf("%s %s\n", clean(args[1]), done)
		},
	}
	c.Flags().BoolVar(&retry, "retry", false, "try it now")
	c.Flags().BoolVar(&giveUp, "give-up", false, "try it no more: the instance has FAILED")
	return p.clientVerb(c)
}
