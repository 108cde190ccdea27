package cmd

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

// findFlags are the flags of the verb find, as the user wrote them.
type findFlags struct {
	requestType, user string
	states, args      []string
	since, until      string
	limit, offset     uint
}

func (p *program) findVerb() *cobra.Command {
	var f findFlags
	c := &cobra.Command{
		Use:   "find",
		Short: "List requests, newest first",
		Long: `Lists requests, newest first. Filters that are given must all match; of several
--state one must.

A time is written 2026-03-01T12:00:00Z, or 2026-03-01, or as an age such as 90m, 2h
or 7d.`,
		Example: `  treadle find --state RUNNING --state SUSPENDED
  treadle find --type deploy --arg app=shop --since 7d`,
		Args: takes(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			filter, err := p.filter(f)
			if err != nil {
				return err
			}
			api, err := p.client()
			if err != nil {
				return err
			}
			found, err := api.FindRequests(c.Context(), filter)
			if err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(found)
			}
			return p.found(found, filter)
		},
	}
	c.Flags().StringVar(&f.requestType, "type", "", "type of the request")
	c.Flags().StringVar(&f.user, "user", "", "who asked for it")
	c.Flags().StringArrayVar(&f.states, "state", nil, "its state, such as RUNNING; may be repeated")
	c.Flags().StringArrayVar(&f.args, "arg", nil, "name=value of an arg; may be repeated")
	c.Flags().StringVar(&f.since, "since", "", "finished after this time, or not finished")
	c.Flags().StringVar(&f.until, "until", "", "created before this time")
	c.Flags().UintVar(&f.limit, "limit", 50, "most requests to list; 0 is all")
	c.Flags().UintVar(&f.offset, "offset", 0, "requests to leave out at the start")
	return p.clientVerb(c)
}

func (p *program) filter(f findFlags) (proto.RequestFilter, error) {
	out := proto.RequestFilter{Type: f.requestType, User: f.user, Limit: f.limit, Offset: f.offset}
	if f.offset > 0 && f.limit == 0 {
		return out, usageErrorf("--offset needs a --limit")
	}
	for _, name := range f.states {
		s, err := proto.ParseState(strings.ToUpper(name))
		if err != nil {
			return out, usageErrorf("--state: %v", err)
		}
		out.States = append(out.States, s)
	}
	for _, a := range f.args {
		name, v, ok := strings.Cut(a, "=")
		if !ok || name == "" {
			return out, usageErrorf("--arg: %q is not name=value", a)
		}
		if out.Args == nil {
			out.Args = map[string]string{}
		}
		out.Args[name] = v
	}
	var err error
	if out.Since, err = p.timeFlag("--since", f.since); err != nil {
		return out, err
	}
	out.Until, err = p.timeFlag("--until", f.until)
	return out, err
}

// timeFlag reads a point in time or an age; "" is no time.
func (p *program) timeFlag(name, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t.UTC(), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", timeLayout, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t.UTC(), nil
		}
	}
	if d, err := proto.ParseAge(s); err == nil {
		return p.now().Add(-d).UTC(), nil
	}
	return time.Time{}, usageErrorf("%s: %q is neither a time such as 2026-03-01T12:00:00Z nor an age such as 2h or 7d", name, s)
}

func (p *program) found(list []proto.Request, f proto.RequestFilter) error {
	if len(list) == 0 {
		p.say("no requests found")
		return nil
	}
	t := newTable(p.stdout, "ID", "TYPE", "STATE", "JOBS", "USER", "CREATED", "FINISHED")
	for _, r := range list {
		t.row(r.ID, r.Type, r.State.String(), jobs(r), orDash(r.User), p.when(r.CreatedAt), p.whenPtr(r.FinishedAt))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if f.Limit > 0 && uint(len(list)) == f.Limit {
		p.say("there may be more: --offset %d", f.Offset+f.Limit)
	}
	return nil
}
