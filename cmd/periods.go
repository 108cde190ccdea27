package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

func (p *program) periodsVerb() *cobra.Command {
	var since, until string
	var limit uint
	c := &cobra.Command{
		Use:   "periods NAME",
		Short: "List the periods of an app, newest first: what ran, what was late or skipped, and why",
		Example: `  treadle periods counter
  treadle periods counter --since 7d --limit 0`,
		Args: takes(1, 1, "the NAME of the app; treadle apps lists them"),
		RunE: func(c *cobra.Command, args []string) error {
			from, err := p.timeFlag("--since", since)
			if err != nil {
				return err
			}
			to, err := p.timeFlag("--until", until)
			if err != nil {
				return err
			}
			api, err := p.client()
			if err != nil {
				return err
			}
			list, err := api.Periods(c.Context(), args[0], from, to, limit)
			if err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(list)
			}
			return p.periods(list)
		},
	}
	c.Flags().StringVar(&since, "since", "", "that start at this time or later")
	c.Flags().StringVar(&until, "until", "", "that start before this time")
	c.Flags().UintVar(&limit, "limit", 50, "most periods to list")
	return p.clientVerb(c)
}

func (p *program) periods(list []proto.Period) error {
	if len(list) == 0 {
		p.say("no periods there")
		return nil
	}
	t := newTable(p.stdout, "PERIOD", "STATE", "DUE", "STARTED", "FINISHED", "RUN", "REQUEST", "WHY")
	for _, x := range list {
		state := string(x.State)
		if x.Late {
			state += ", late"
		}
		t.row(x.Name, state, p.when(x.Due), p.whenPtr(x.StartedAt), p.whenPtr(x.FinishedAt), fmt.Sprint(x.Run),
			orDash(x.RequestID), orDash(periodWhy(x)))
	}
	return t.flush()
}

// maxWhy bounds a reason in a table, in characters. It may end with a command to run.
const maxWhy = 400

// periodWhy gathers all that there is to say of a period.
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
			parts = append(parts, short(s, maxWhy))
		}
	}
	return strings.Join(parts, "; ")
}

func (p *program) blockedVerb() *cobra.Command {
	var app string
	var limit uint
	c := &cobra.Command{
		Use:   "blocked",
		Short: "List the periods that wait for other apps: what waits for what",
		Example: `  treadle blocked
  treadle blocked --app counter --limit 10`,
		Args: takes(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			list, err := api.Blocked(c.Context(), app, limit)
			if err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(list)
			}
			return p.blocked(list)
		},
	}
	c.Flags().StringVar(&app, "app", "", "name of the app whose periods wait")
	c.Flags().UintVar(&limit, "limit", 0, "most periods to list; 0 is 1,000")
	return p.clientVerb(c)
}

func (p *program) blocked(list []proto.Blocked) error {
	if len(list) == 0 {
		p.say("nothing waits for other apps")
		return nil
	}
	t := newTable(p.stdout, "PERIOD", "WAITS FOR", "DONE", "FIRST MISSING", "WHY")
	for _, b := range list {
		for _, on := range b.On {
			t.row(b.Name, on.App, fmt.Sprintf("%d/%d", on.Done, on.Expected), orDash(on.First), orDash(short(on.Why, maxWhy)))
		}
	}
	return t.flush()
}
