package cmd

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/rs/xid"
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

const startLong = `Starts a request and prints its id.

An arg is written name=value. What its spec says that it is decides how the value
is read: a text as it is; int, float, bool, list and object as JSON (a list also as
a,b,c). name:=JSON is JSON always. On a terminal, missing args are asked for.

With --wait it shows how the request runs until it ends, and the exit code is
the result: 0 COMPLETE, 1 FAIL or STOPPED, 2 bad input, 3 the Request Manager
cannot be reached. Ctrl-C ends the waiting, not the request.`

// startFlags are the flags of the verb start.
type startFlags struct {
	wait     bool
	key      string
	argsFile string
	host     string
}

func (p *program) startVerb() *cobra.Command {
	var f startFlags
	c := &cobra.Command{
		Use:   "start TYPE [arg=value ...]",
		Short: "Start a request",
		Long:  startLong,
		Example: `  treadle start hello name=Ada
  treadle start deploy app=shop hosts=a,b,c --wait
  treadle start order-vm cpus=8 tags:='["blue"]'
  treadle start order-vm --args-file args.json`,
		Args: takes(1, -1, "the TYPE of the request; treadle requests lists them"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.start(c.Context(), args[0], args[1:], f)
		},
	}
	c.Flags().BoolVar(&f.wait, "wait", false, "show how it runs until it ends")
	c.Flags().StringVar(&f.key, "key", "", "idempotency key: a second start with the same key and args is the same request")
	c.Flags().StringVar(&f.argsFile, "args-file", "", "JSON `file` with args, - for stdin; args of the command line win")
	c.Flags().StringVar(&f.host, "host", "", "`name` of the host whose Job Runners alone run it; it waits while none is there")
	return p.clientVerb(c)
}

func (p *program) start(ctx context.Context, requestType string, words []string, f startFlags) error {
	c, err := p.client()
	if err != nil {
		return err
	}
	specs, err := c.RequestList(ctx)
	if err != nil {
		return err
	}
	spec, err := specOf(specs, requestType, requestsVerbHint)
	if err != nil {
		return err
	}
	args, err := p.args(ctx, spec, words, f)
	if err != nil {
		return err
	}
	if f.key == "" {
		f.key = xid.New().String()
	}
	r, err := c.CreateRequest(ctx, proto.CreateRequest{Type: requestType, Args: args, Host: f.host}, f.key)
	if err != nil {
		return err
	}
	return p.afterStart(ctx, c, r, f.wait)
}

// args gathers the args of a request from the file, the command line and, for
// what is still missing, the terminal.
func (p *program) args(ctx context.Context, spec proto.RequestSpec, words []string, f startFlags) (proto.Values, error) {
	args := proto.Values{}
	if f.argsFile != "" {
		var err error
		if args, err = p.readArgsFile(f.argsFile); err != nil {
			return nil, err
		}
	}
	given, err := parseArgs(spec, words)
	if err != nil {
		return nil, err
	}
	maps.Copy(args, given)
	wanted := missing(spec, args)
	if len(wanted) == 0 {
		return args, nil
	}
	tty, ok := terminal(p.stdin)
	if !ok || f.argsFile == "-" {
		names := make([]string, len(wanted))
		for i, a := range wanted {
			names[i] = a.Name + "=..."
		}
		return nil, usageErrorf("%s needs %s; treadle help %s says what they are",
			spec.Name, strings.Join(names, " "), spec.Name)
	}
	if err := p.ask(ctx, tty, wanted, args); err != nil {
		return nil, err
	}
	return args, nil
}

// afterStart prints the request that was started, or waits for its end.
func (p *program) afterStart(ctx context.Context, c *client.Client, r proto.Request, wait bool) error {
	if !wait {
		if p.json() {
			return p.printJSON(r)
		}
		return p.printf("%s\n", r.ID)
	}
	return p.wait(ctx, c, r.ID)
}

// wait shows the request until it ends, and returns its result as exit code. The
// request outlives Ctrl-C.
func (p *program) wait(ctx context.Context, c *client.Client, id string) error {
	err := p.showToEnd(ctx, c, id)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		p.say("treadle: no longer waiting; request %s goes on: treadle watch %s shows it, treadle stop %s ends it", id, id, id)
		return silentExit(exitInterrupted)
	}
	return err
}

// showToEnd shows the request until it ends, and returns its result as exit code.
func (p *program) showToEnd(ctx context.Context, c *client.Client, id string) error {
	show := p.progress()
	show.note("%s", clean(id))
	r, err := p.follow(ctx, c, id, show)
	show.end()
	if err != nil {
		return err
	}
	if p.json() {
		if err := p.printJSON(r); err != nil {
			return err
		}
	} else if err := p.printf("%s\n", outcome(r)); err != nil {
		return err
	}
	return silentExit(exitOfState(r.State))
}

// outcome says how a request ended, and what to look at next.
func outcome(r proto.Request) string {
	s := r.State.String()
	if r.FinishedAt != nil {
		s += " after " + length(r.FinishedAt.Sub(r.CreatedAt))
	}
	s += ", " + jobs(r) + " jobs"
	if r.Reason != "" {
		s += ": " + clean(r.Reason)
	}
	if r.State == proto.StateFail {
		s += "\nsee: treadle log " + r.ID
	}
	return s
}
