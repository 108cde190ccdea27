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
	since, until      string
	limit, offset     uint
}

func findVerb(m *verb.Manager) *cobra.Command {
	var f findFlags
	c := m.Verb(&cobra.Command{
		Use:   "find",
		Short: "List requests, newest first",
		Long: `Lists requests, newest first. A request must match all filters that are given; of several
--state it must match one.

A time is written 2026-03-01T12:00:00Z, or 2026-03-01 (in the local time zone), or as an
age such as 90m, 2h or 7d.`,
		Example: `  treadle find --state RUNNING --state SUSPENDED
  treadle find --type deploy --arg app=shop --since 7d`,
		Args: verb.NoArgs,
	}, func(ctx context.Context, api *client.Client, out *term.Out, _ []string) error {
		filter, err := f.filter(out.Now())
		if err != nil {
			return err
		}
		list, err := api.FindRequests(ctx, filter)
		if err != nil {
			return err
		}
		return out.Show(list, func() error { return found(out, list, filter) })
	})
	c.Flags().StringVar(&f.requestType, "type", "", "only requests of this `type`")
	c.Flags().StringVar(&f.user, "user", "", "only requests that this `user` started")
	c.Flags().StringArrayVar(&f.states, "state", nil, "only requests in this `state`, such as RUNNING; may be repeated")
	c.Flags().StringArrayVar(&f.args, "arg", nil, "only requests with this arg, as `name=value`; may be repeated")
	c.Flags().StringVar(&f.since, "since", "", "only requests that finished after this `time`, or have not finished")
	c.Flags().StringVar(&f.until, "until", "", "only requests that were created before this `time`")
	c.Flags().UintVar(&f.limit, "limit", 50, "list at most this `number` of requests; 0 is all")
	c.Flags().UintVar(&f.offset, "offset", 0, "skip this `number` of requests at the start")
	return c
}

func (f findFlags) filter(now time.Time) (proto.RequestFilter, error) {
	filter := proto.RequestFilter{Type: f.requestType, User: f.user, Limit: f.limit, Offset: f.offset}
	if f.offset > 0 && f.limit == 0 {
		return filter, verb.Usagef("--offset needs a --limit")
	}
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
	var err error
	filter.Since, filter.Until, err = verb.Range(now, f.since, f.until)
	return filter, err
}

func found(out *term.Out, list []proto.Request, f proto.RequestFilter) error {
	if len(list) == 0 {
		out.Say("no requests found")
		return nil
	}
	t := out.Table("ID", "TYPE", "STATE", "JOBS", "USER", "CREATED", "FINISHED")
	for _, r := range list {
		t.Row(r.ID, r.Type, r.State.String(), jobs(r), term.OrDash(r.User), out.When(r.CreatedAt), out.WhenPtr(r.FinishedAt))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if f.Limit > 0 && uint(len(list)) == f.Limit {
		out.Say("there may be more: --offset %d", f.Offset+f.Limit)
	}
	return nil
}
