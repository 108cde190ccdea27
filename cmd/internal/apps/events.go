package apps

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

func eventsVerb(m *verb.Manager) *cobra.Command {
	var after uint64
	var limit uint
	c := verb.List(m, &cobra.Command{
		Use:   "events NAME",
		Short: "List events of an app, oldest first: periods that were skipped, late, failed or taken over",
		Example: `  treadle events counter
  treadle events counter --after 4711`,
		Args: verb.Takes(1, 1, nameArg),
	}, verb.Listing[proto.AppEvent]{
		Ask: func(ctx context.Context, api *client.Client, args []string) ([]proto.AppEvent, error) {
			return api.AppEvents(ctx, args[0], after, limit)
		},
		None:     "no events found",
		Header:   []string{"ID", "AT", "EVENT", "FROM", "TO", "PERIODS", "REASON"},
		Optional: []string{"TO"},
		Row: func(e proto.AppEvent) []any {
			return []any{e.ID, e.At, e.Kind, e.PeriodStart, e.PeriodTo, e.Count, term.OrDash(term.Short(e.Reason, maxWhy))}
		},
	})
	c.Flags().Uint64Var(&after, "after", 0, "only events after the one with this `id`")
	c.Flags().UintVar(&limit, "limit", 0, "list at most this `number` of events; 0 is 1,000")
	return c
}
