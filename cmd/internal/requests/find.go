package requests

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

// findFlags are the flags of the verb find, as the user wrote them.
type findFlags struct {
	requestType, user string
	states, args      []string
	times             verb.Range
	page              verb.Page
}

func findVerb(m *verb.Manager) *cobra.Command {
	var f findFlags
	c := verb.List(m, &cobra.Command{
		Use:   "find",
		Short: "List requests, newest first",
		Long: `Lists requests, newest first. A request must match all filters that are given; of several
--state it must match one.

A time is written 2026-03-01T12:00:00Z, or 2026-03-01 (in the local time zone), or as an
age such as 90m, 2h or 7d.`,
		Example: `  treadle find --state RUNNING --state SUSPENDED
  treadle find --type deploy --arg app=shop --since 7d`,
		Args: verb.NoArgs,
	}, verb.Listing[proto.Request]{
		Ask: func(ctx context.Context, api *client.Client, _ []string) ([]proto.Request, error) {
			filter, err := f.filter(m.Now())
			if err != nil {
				return nil, err
			}
			return api.FindRequests(ctx, filter)
		},
		None:     "no requests found",
		Header:   []string{"ID", "TYPE", "STATE", "JOBS", "USER", "CREATED", "FINISHED"},
		Optional: []string{"USER"},
		Row: func(r proto.Request) []any {
			return []any{r.ID, r.Type, r.State.String(), jobs(r), term.OrDash(r.User), r.CreatedAt, r.FinishedAt}
		},
		Page: &f.page,
	})
	c.Flags().StringVar(&f.requestType, "type", "", "only requests of this `type`")
	c.Flags().StringVar(&f.user, "user", "", "only requests that this `user` started")
	c.Flags().StringArrayVar(&f.states, "state", nil, "only requests in this `state`, such as RUNNING; may be repeated")
	c.Flags().StringArrayVar(&f.args, "arg", nil, "only requests with this arg, as `name=value`; may be repeated")
	f.times.Flags(c, "only requests that finished after this `time`, or have not finished", "only requests that were created before this `time`")
	f.page.Flags(c, "requests", "; 0 is all")
	return c
}

func (f *findFlags) filter(now time.Time) (filter proto.RequestFilter, err error) {
	filter = proto.RequestFilter{Type: f.requestType, User: f.user, Limit: f.page.Limit, Offset: f.page.Offset}
	for _, name := range f.states {
		s, err := proto.ParseState(strings.ToUpper(name))
		if err != nil {
			return filter, verb.Usagef("--state: %v", err)
		}
		filter.States = append(filter.States, s)
	}
	for _, a := range f.args {
		name, v, ok := strings.Cut(a, "=")
		if !ok || name == "" {
			return filter, verb.Usagef("--arg: expected name=value, not %q", a)
		}
		if filter.Args == nil {
			filter.Args = map[string]string{}
		}
		filter.Args[name] = v
	}
	filter.Since, filter.Until, err = f.times.Times(now)
	return filter, err
}
