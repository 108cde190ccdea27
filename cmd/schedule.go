package cmd

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

func (p *program) scheduleVerb() *cobra.Command {
	c := &cobra.Command{
		Use:   "schedule",
		Short: "Look ahead, and at who runs recurring work",
		Args:  takes(0, 0, ""),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(p.scheduleNextVerb(), p.scheduleMembersVerb(), p.scheduleShardsVerb())
	return c
}

func (p *program) scheduleMembersVerb() *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:   "members",
		Short: "List the Request Managers that run recurring work",
		Args:  takes(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			members, err := api.Members(c.Context())
			if err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(members)
			}
			return p.members(members)
		},
	})
}

func (p *program) members(list []proto.Member) error {
	if len(list) == 0 {
		p.say("no Request Manager runs recurring work")
		return nil
	}
	t := newTable(p.stdout, "ID", "HOST", "PID", "STATE", "SHARDS", "STARTED", "HEARD OF", "VERSION")
	for _, m := range list {
		state := "stale"
		if m.Live {
			state = "live"
		}
		t.row(m.ID, m.Host, fmt.Sprint(m.PID), state, fmt.Sprint(m.Shards), p.when(m.StartedAt), p.when(m.HeartbeatAt), orDash(m.Version))
	}
	return t.flush()
}

func (p *program) scheduleShardsVerb() *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:   "shards N",
		Short: "Change into how many shards the apps are cut, while everything runs",
		Args:  takes(1, 1, "N, the number of shards"),
		RunE: func(c *cobra.Command, args []string) error {
			n, err := strconv.ParseUint(args[0], 10, 16)
			if err != nil {
				return usageErrorf("N must be a whole number from 1 on, not %q", args[0])
			}
			api, err := p.client()
			if err != nil {
				return err
			}
			if err := api.SetShards(c.Context(), uint(n)); err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(map[string]any{"shards": n})
			}
			return p.printf("the apps are in %s; members follow within some seconds\n", count(int(n), "shard"))
		},
	})
}
