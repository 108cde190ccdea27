package apps

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

const appUndoLong = `Decides what happens to a failed instance whose undo keeps failing. The undo is retried
automatically, with longer and longer waits, and later instances of the app wait until it
succeeds. --retry retries it now. --give-up ends the instance as FAILED: what it left behind
stays, and the app continues.`

func appUndoVerb(m *verb.Manager) *cobra.Command {
	var retry, giveUp bool
	c := m.Verb(&cobra.Command{
		Use:     "undo NAME INSTANCE",
		Short:   "Retry an undo that keeps failing now, or abandon it",
		Long:    appUndoLong,
		Example: "  treadle app undo counter 2011-01-02-1300-counter --retry",
		Args:    verb.Takes(2, 2, "the NAME of the app and the INSTANCE; treadle instances lists them"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		if retry == giveUp {
			return verb.Usagef("expected exactly one of --retry and --give-up")
		}
		u, done := proto.UndoInstance{Instance: args[1], Do: proto.UndoRetry}, "is being undone"
		if giveUp {
			u.Do, done = proto.UndoGiveUp, "has FAILED, its undo is abandoned"
		}
		if err := api.UndoInstance(ctx, args[0], u); err != nil {
			return err
		}
		return out.Show(map[string]any{"app": args[0], "instance": u.Instance, "do": u.Do}, func() error { return out.Printf("%s %s\n", term.Clean(args[1]), done) })
	})
	c.Flags().BoolVar(&retry, "retry", false, "retry the undo now")
	c.Flags().BoolVar(&giveUp, "give-up", false, "abandon the undo: the instance has FAILED")
	return c
}
