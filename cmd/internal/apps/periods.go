package apps

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

func periodsVerb(m *verb.Manager) *cobra.Command {
	var r verb.Range
	var limit uint
	c := verb.List(m, &cobra.Command{
		Use:   "periods NAME",
		Short: "List the periods of an app, newest first: what ran, was late or was skipped, and why",
		Example: `  treadle periods counter
  treadle periods counter --since 7d --limit 0`,
		Args: verb.Takes(1, 1, nameArg),
	}, verb.Listing[proto.Period]{
		Ask: func(ctx context.Context, api *client.Client, args []string) ([]proto.Period, error) {
			since, until, err := r.Times(m.Now())
			if err != nil {
				return nil, err
			}
			return api.Periods(ctx, args[0], since, until, limit)
		},
		None:     "no periods found",
		Header:   []string{"PERIOD", "STATE", "DUE", "STARTED", "FINISHED", "RUN", "REQUEST", "WHY"},
		Optional: []string{"RUN", "DUE", "STARTED"},
		Row: func(x proto.Period) []any {
			state := string(x.State)
			if x.Late {
				state += ", late"
			}
			return []any{x.Name, state, x.Due, x.StartedAt, x.FinishedAt, x.Run, term.OrDash(x.RequestID), term.OrDash(periodWhy(x))}
		},
	})
	r.Flags(c, "only periods that start at or after this `time`", "only periods that start before this `time`")
	c.Flags().UintVar(&limit, "limit", 50, "list at most this `number` of periods")
	return c
}

// maxWhy bounds a reason in a table, in characters: it may end with a command to run.
const maxWhy = 400

// periodWhy gathers all explanations of the state of a period.
func periodWhy(x proto.Period) string {
	var parts []string
	if len(x.Waits) > 0 {
		parts = append(parts, "waits for "+strings.Join(x.Waits, ", "))
	}
	if len(x.Blocks) > 0 {
		parts = append(parts, "blocks "+strings.Join(x.Blocks, ", "))
	}
	for _, s := range []string{x.Reason, x.Why} {
		if s != "" {
			parts = append(parts, term.Short(s, maxWhy))
		}
	}
	return strings.Join(parts, "; ")
}

func blockedVerb(m *verb.Manager) *cobra.Command {
	var app string
	var limit uint
	c := m.Verb(&cobra.Command{
		Use:   "blocked",
		Short: "List periods that wait for upstream apps, and for what",
		Example: `  treadle blocked
  treadle blocked --app counter --limit 10`,
		Args: verb.NoArgs,
	}, func(ctx context.Context, api *client.Client, out *term.Out, _ []string) error {
		list, err := api.Blocked(ctx, app, limit)
		if err != nil {
			return err
		}
		return out.Show(list, func() error { return blocked(out, list) })
	})
	c.Flags().StringVar(&app, "app", "", "only periods of this `app`")
	c.Flags().UintVar(&limit, "limit", 0, "list at most this `number` of periods; 0 is 1,000")
	return c
}

func blocked(out *term.Out, list []proto.Blocked) error {
	if len(list) == 0 {
		out.Say("no period waits for an upstream app")
		return nil
	}
	t := out.Table("PERIOD", "WAITS FOR", "DONE", "FIRST MISSING", "WHY")
	for _, b := range list {
		for _, on := range b.On {
			t.Row(b.Name, on.App, fmt.Sprintf("%d/%d", on.Done, on.Expected), term.OrDash(on.First), term.OrDash(term.Short(on.Why, maxWhy)))
		}
	}
	return t.Flush()
}
