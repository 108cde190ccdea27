package apps

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

func scheduleVerb(m *verb.Manager, out *term.Out, specApp SpecApp) *cobra.Command {
	c := &cobra.Command{
		Use:   "schedule",
		Short: "Show next times, and the members that run recurring work",
		Args:  verb.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(scheduleNextVerb(m, out, specApp), scheduleMembersVerb(m), scheduleShardsVerb(m))
	return c
}

func scheduleMembersVerb(m *verb.Manager) *cobra.Command {
	return verb.List(m, &cobra.Command{
		Use:   "members",
		Short: "List the members: the Request Managers that run recurring work",
		Args:  verb.NoArgs,
	}, verb.Listing[proto.MemberStatus]{
		Ask: func(ctx context.Context, api *client.Client, _ []string) ([]proto.MemberStatus, error) {
			return api.Members(ctx)
		},
		None:     "no Request Manager runs recurring work",
		Header:   []string{"ID", "HOST", "PID", "STATE", "SHARDS", "STARTED", "LAST SEEN", "VERSION"},
		Optional: []string{"VERSION", "PID", "HOST"},
		Row: func(x proto.MemberStatus) []any {
			state := "stale"
			if x.Live {
				state = "live"
			}
			return []any{x.ID, x.Host, x.PID, state, x.Shards, x.StartedAt, x.HeartbeatAt, term.OrDash(x.Version)}
		},
	})
}

func scheduleShardsVerb(m *verb.Manager) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:   "shards N",
		Short: "Change the number of shards of the apps, without a restart",
		Args:  verb.Takes(1, 1, "N, the number of shards"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		n, err := strconv.ParseUint(args[0], 10, 16)
		if err != nil {
			return verb.Usagef("N must be a whole number of at least 1, not %q", args[0])
		}
		if err := api.SetShards(ctx, uint(n)); err != nil {
			return err
		}
		return out.Show(map[string]any{"shards": n}, func() error {
			return out.Printf("the apps are in %s now; members follow within seconds\n", term.Count(int(n), "shard"))
		})
	})
}
