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
		Long: `Lists requests, newest first. Filters that are given must all match; of several
--state one must.

A time is written 2026-03-01T12:00:00Z, or 2026-03-01, or as an age such as 90m, 2h
or 7d.`,
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
	c.Flags().StringVar(&f.requestType, "type", "", "type of the request")
	c.Flags().StringVar(&f.user, "user", "", "who asked for it")
	c.Flags().StringArrayVar(&f.states, "state", nil, "its state, such as RUNNING; may be repeated")
	c.Flags().StringArrayVar(&f.args, "arg", nil, "name=value of an arg; may be repeated")
	c.Flags().StringVar(&f.since, "since", "", "finished after this time, or not finished")
	c.Flags().StringVar(&f.until, "until", "", "created before this time")
	c.Flags().UintVar(&f.limit, "limit", 50, "most requests to list; 0 is all")
	c.Flags().UintVar(&f.offset, "offset", 0, "requests to leave out at the start")
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
			return filter, verb.Usagef("--arg: %q is not name=value", a)
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
