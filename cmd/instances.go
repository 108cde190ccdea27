package cmd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

// instancesFlags are the flags of the verb instances, as the user wrote them.
type instancesFlags struct {
	app, host     string
	states        []string
	since, until  string
	limit, offset uint
}

func (p *program) instancesVerb() *cobra.Command {
	var f instancesFlags
	c := &cobra.Command{
		Use:   "instances",
		Short: "List instances of apps: those that have not ended first, then newest first",
		Example: `  treadle instances --app counter
  treadle instances --state FAILED --since 1d
  treadle instances --host db1 --state RUNNING`,
		Args: takes(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			filter, err := p.instanceFilter(f)
			if err != nil {
				return err
			}
			api, err := p.client()
			if err != nil {
				return err
			}
			found, err := api.Instances(c.Context(), filter)
			if err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(found)
			}
			return p.instances(found, filter)
		},
	}
	c.Flags().StringVar(&f.app, "app", "", "name of the app")
	c.Flags().StringVar(&f.host, "host", "", "host that runs it")
	c.Flags().StringArrayVar(&f.states, "state", nil, "its state, such as FAILED; may be repeated")
	c.Flags().StringVar(&f.since, "since", "", "whose period starts at this time or later")
	c.Flags().StringVar(&f.until, "until", "", "whose period starts before this time")
	c.Flags().UintVar(&f.limit, "limit", 50, "most instances to list")
	c.Flags().UintVar(&f.offset, "offset", 0, "instances to leave out at the start")
	return p.clientVerb(c)
}

func (p *program) instanceFilter(f instancesFlags) (proto.InstanceFilter, error) {
	out := proto.InstanceFilter{App: f.app, Host: f.host, Limit: f.limit, Offset: f.offset}
	if f.offset > 0 && f.limit == 0 {
		return out, usageErrorf("--offset needs a --limit")
	}
	for _, name := range f.states {
		var s proto.InstanceState
		if err := s.UnmarshalJSON([]byte(strconv.Quote(strings.ToUpper(name)))); err != nil {
			return out, usageErrorf("--state: %q is none of QUEUED, RUNNING, TO_UNDO, UNDOING, SUCCEEDED and FAILED", name)
		}
		out.States = append(out.States, s)
	}
	var err error
	if out.Since, err = p.timeFlag("--since", f.since); err != nil {
		return out, err
	}
	out.Until, err = p.timeFlag("--until", f.until)
	return out, err
}

func (p *program) instances(list []proto.Instance, f proto.InstanceFilter) error {
	if len(list) == 0 {
		p.say("no instances found")
		return nil
	}
	t := newTable(p.stdout, "INSTANCE", "STATE", "RUN", "HOST", "DUE", "STARTED", "FINISHED", "REQUEST", "REASON")
	for _, in := range list {
		t.row(in.Name, in.State.String(), fmt.Sprint(in.Run), orDash(in.Host), p.when(in.Due), p.whenPtr(in.StartedAt),
			p.whenPtr(in.FinishedAt), orDash(in.RequestID), orDash(short(in.Reason, 120)))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if f.Limit > 0 && uint(len(list)) == f.Limit {
		p.say("there may be more: --offset %d", f.Offset+f.Limit)
	}
	return nil
}
