package apps

import (
	"context"
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
	app, host string
	states    []string
	times     verb.Range
	page      verb.Page
}

func instancesVerb(m *verb.Manager) *cobra.Command {
	var f instancesFlags
	c := verb.List(m, &cobra.Command{
		Use:   "instances",
		Short: "List instances of apps: unfinished ones first, then newest first",
		Example: `  treadle instances --app counter
  treadle instances --state FAILED --since 1d
  treadle instances --host db1 --state RUNNING`,
		Args: verb.NoArgs,
	}, verb.Listing[proto.Instance]{
		Ask: func(ctx context.Context, api *client.Client, _ []string) ([]proto.Instance, error) {
			filter, err := f.filter(m.Now())
			if err != nil {
				return nil, err
			}
			return api.Instances(ctx, filter)
		},
		None:     "no instances found",
		Header:   []string{"INSTANCE", "STATE", "RUN", "HOST", "DUE", "STARTED", "FINISHED", "REQUEST", "REASON"},
		Optional: []string{"RUN", "DUE", "STARTED", "HOST"},
		Row: func(in proto.Instance) []any {
			return []any{in.Name, in.State.String(), in.Run, term.OrDash(in.Host), in.Due, in.StartedAt, in.FinishedAt,
				term.OrDash(in.RequestID), term.OrDash(term.Short(in.Reason, 120))}
		},
		Page: &f.page,
	})
	c.Flags().StringVar(&f.app, "app", "", "only instances of this `app`")
	c.Flags().StringVar(&f.host, "host", "", "only instances on this `host`")
	c.Flags().StringArrayVar(&f.states, "state", nil, "only instances in this `state`, such as FAILED; may be repeated")
	f.times.Flags(c, "only periods that start at or after this `time`", "only periods that start before this `time`")
	f.page.Flags(c, "instances", "")
	return c
}

func (f *instancesFlags) filter(now time.Time) (filter proto.InstanceFilter, err error) {
	filter = proto.InstanceFilter{App: f.app, Host: f.host, Limit: f.page.Limit, Offset: f.page.Offset}
	for _, name := range f.states {
		var s proto.InstanceState
		if err := s.UnmarshalJSON([]byte(strconv.Quote(strings.ToUpper(name)))); err != nil {
			return filter, verb.Usagef("--state: unknown state %q: expected one of QUEUED, RUNNING, TO_UNDO, UNDOING, SUCCEEDED and FAILED", name)
		}
		filter.States = append(filter.States, s)
	}
	filter.Since, filter.Until, err = f.times.Times(now)
	return filter, err
}
