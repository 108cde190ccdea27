package apps

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

func eventsVerb(m *verb.Manager) *cobra.Command {
	var after uint64
	var limit uint
	c := m.Verb(&cobra.Command{
		Use:   "events NAME",
		Short: "List events of an app, oldest first: periods that were skipped, late, failed or taken over",
		Example: `  treadle events counter
  treadle events counter --after 4711`,
		Args: verb.Takes(1, 1, "the NAME of the app; treadle apps lists them"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		list, err := api.AppEvents(ctx, args[0], after, limit)
		if err != nil {
			return err
		}
		return out.Show(list, func() error { return events(out, list) })
	})
	c.Flags().Uint64Var(&after, "after", 0, "only events after the one with this `id`")
	c.Flags().UintVar(&limit, "limit", 0, "list at most this `number` of events; 0 is 1,000")
	return c
}

func events(out *term.Out, list []proto.AppEvent) error {
	if len(list) == 0 {
		out.Say("no events found")
		return nil
	}
	t := out.Table("ID", "AT", "EVENT", "FROM", "TO", "PERIODS", "REASON")
	for _, e := range list {
		t.Row(fmt.Sprint(e.ID), out.When(e.At), e.Kind, out.When(e.PeriodStart), out.When(e.PeriodTo), fmt.Sprint(e.Count), term.OrDash(term.Short(e.Reason, maxWhy)))
	}
	return t.Flush()
}
