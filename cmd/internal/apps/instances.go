package apps

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

// instancesFlags are the flags of the verb instances, as the user wrote them.
type instancesFlags struct {
	app, host     string
	states        []string
	since, until  string
	limit, offset uint
}

func instancesVerb(m *verb.Manager) *cobra.Command {
	var f instancesFlags
	c := m.Verb(&cobra.Command{
		Use:   "instances",
		Short: "List instances of apps: unfinished ones first, then newest first",
		Example: `  treadle instances --app counter
  treadle instances --state FAILED --since 1d
  treadle instances --host db1 --state RUNNING`,
		Args: verb.NoArgs,
	}, func(ctx context.Context, api *client.Client, out *term.Out, _ []string) error {
		filter, err := f.filter(out.Now())
		if err != nil {
			return err
		}
		found, err := api.Instances(ctx, filter)
		if err != nil {
			return err
		}
		return out.Show(found, func() error { return instances(out, found, filter) })
	})
	c.Flags().StringVar(&f.app, "app", "", "only instances of this `app`")
	c.Flags().StringVar(&f.host, "host", "", "only instances on this `host`")
	c.Flags().StringArrayVar(&f.states, "state", nil, "only instances in this `state`, such as FAILED; may be repeated")
	c.Flags().StringVar(&f.since, "since", "", "only periods that start at or after this `time`")
	c.Flags().StringVar(&f.until, "until", "", "only periods that start before this `time`")
	c.Flags().UintVar(&f.limit, "limit", 50, "list at most this `number` of instances")
	c.Flags().UintVar(&f.offset, "offset", 0, "skip this `number` of instances at the start")
	return c
}

func (f instancesFlags) filter(now time.Time) (proto.InstanceFilter, error) {
	filter := proto.InstanceFilter{App: f.app, Host: f.host, Limit: f.limit, Offset: f.offset}
	if f.offset > 0 && f.limit == 0 {
		return filter, verb.Usagef("--offset needs a --limit")
	}
	for _, name := range f.states {
		var s proto.InstanceState
		if err := s.UnmarshalJSON([]byte(strconv.Quote(strings.ToUpper(name)))); err != nil {
			return filter, verb.Usagef("--state: unknown state %q: expected one of QUEUED, RUNNING, TO_UNDO, UNDOING, SUCCEEDED and FAILED", name)
		}
		filter.States = append(filter.States, s)
	}
	var err error
	filter.Since, filter.Until, err = verb.Range(now, f.since, f.until)
	return filter, err
}

func instances(out *term.Out, list []proto.Instance, f proto.InstanceFilter) error {
	if len(list) == 0 {
		out.Say("no instances found")
		return nil
	}
	t := out.Table("INSTANCE", "STATE", "RUN", "HOST", "DUE", "STARTED", "FINISHED", "REQUEST", "REASON")
	for _, in := range list {
		t.Row(in.Name, in.State.String(), fmt.Sprint(in.Run), term.OrDash(in.Host), out.When(in.Due), out.WhenPtr(in.StartedAt),
			out.WhenPtr(in.FinishedAt), term.OrDash(in.RequestID), term.OrDash(term.Short(in.Reason, 120)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if f.Limit > 0 && uint(len(list)) == f.Limit {
		out.Say("there may be more: --offset %d", f.Offset+f.Limit)
	}
	return nil
}
