package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

func (p *program) eventsVerb() *cobra.Command {
	var after uint64
	var limit uint
	c := &cobra.Command{
		Use:   "events NAME",
		Short: "List the events of an app, oldest first: what was skipped, late, failed or taken over",
		Example: `  treadle events counter
  treadle events counter --after 4711`,
		Args: takes(1, 1, "the NAME of the app; treadle apps lists them"),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			list, err := api.AppEvents(c.Context(), args[0], after, limit)
			if err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(list)
			}
			return p.events(list)
		},
	}
	c.Flags().Uint64Var(&after, "after", 0, "those after the event with this `id`")
	c.Flags().UintVar(&limit, "limit", 0, "most events to list; 0 is 1,000")
	return p.clientVerb(c)
}

func (p *program) events(list []proto.AppEvent) error {
	if len(list) == 0 {
		p.say("no events there")
		return nil
	}
	t := newTable(p.stdout, "ID", "AT", "EVENT", "FROM", "TO", "PERIODS", "REASON")
	for _, e := range list {
		t.row(fmt.Sprint(e.ID), p.when(e.At), e.Kind, p.when(e.PeriodStart), p.when(e.PeriodTo), fmt.Sprint(e.Count), orDash(short(e.Reason, maxWhy)))
	}
	return t.flush()
}
