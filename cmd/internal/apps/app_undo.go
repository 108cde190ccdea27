package apps

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

const appUndoLong = `Says what becomes of an instance that failed and whose undo keeps failing. It is tried
again by itself, after longer and longer waits; until it succeeds, later instances of the
app wait. --retry tries it now. --give-up ends the instance: it has FAILED, what it left
stays, and the app goes on.`

func appUndoVerb(m *verb.Manager) *cobra.Command {
	var retry, giveUp bool
	c := m.Verb(&cobra.Command{
		Use:     "undo NAME INSTANCE",
		Short:   "Try an undo that keeps failing now, or give it up",
		Long:    appUndoLong,
		Example: "  treadle app undo counter 2011-01-02-1300-counter --retry",
		Args:    verb.Takes(2, 2, "the NAME of the app and the INSTANCE; treadle instances lists them"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		if retry == giveUp {
			return verb.Usagef("what is to be done? give --retry or --give-up")
		}
		u, done := proto.UndoInstance{Instance: args[1], Do: proto.UndoRetry}, "is undone now"
		if giveUp {
			u.Do, done = proto.UndoGiveUp, "has FAILED, its undo is given up"
		}
		if err := api.UndoInstance(ctx, args[0], u); err != nil {
			return err
		}
		return out.Show(map[string]any{"app": args[0], "instance": u.Instance, "do": u.Do}, func() error { return out.Printf("%s %s\n", term.Clean(args[1]), done) })
	})
	c.Flags().BoolVar(&retry, "retry", false, "try it now")
	c.Flags().BoolVar(&giveUp, "give-up", false, "try it no more: the instance has FAILED")
	return c
}
