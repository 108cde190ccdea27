package requests

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/rs/xid"
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/argtext"
	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

const startLong = `Starts a request and prints its id.

Args are written name=value. The spec of the request says how a value is read: a
string as it stands; int, float, bool, list and object as JSON (a list also as a,b,c).
name:=JSON is always read as JSON. On a terminal, you are asked for missing args.

With --wait, the progress of the request is shown until it ends, and the exit code is
the result: 0 COMPLETE, 1 FAIL or STOPPED, 2 bad input, 3 Request Manager unavailable.
Ctrl-C ends the waiting, not the request.`

// startFlags are the flags of the verb start.
type startFlags struct {
	wait     bool
	key      string
	argsFile string
	host     string
}

func startVerb(m *verb.Manager, stdin io.Reader) *cobra.Command {
	var f startFlags
	c := m.Verb(&cobra.Command{
		Use:   "start TYPE [arg=value ...]",
		Short: "Start a request",
		Long:  startLong,
		Example: `  treadle start hello name=Ada
  treadle start deploy app=shop hosts=a,b,c --wait
  treadle start order-vm cpus=8 tags:='["blue"]'
  treadle start order-vm --args-file args.json`,
		Args: verb.Takes(1, -1, "the TYPE of the request; treadle requests lists them"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		spec, err := specOf(ctx, api, args[0])
		if err != nil {
			return err
		}
		values, err := requestArgs(ctx, out, stdin, spec, args[1:], f.argsFile)
		if err != nil {
			return err
		}
		if f.key == "" {
			f.key = xid.New().String()
		}
		r, err := api.CreateRequest(ctx, proto.CreateRequest{Type: spec.Name, Args: values, Host: f.host}, f.key)
		if proto.ErrorCode(err) == proto.CodeUnavailable {
			return &verb.ExitError{Code: verb.ExitUnreachable, Err: fmt.Errorf(
				"%s. Whether it was started is not known: run the same command with --key %s, so that it is started only once", verb.Message(err), f.key)}
		}
		if err != nil {
			return err
		}
		if f.wait {
			return waitFor(ctx, out, api, r.ID)
		}
		return out.Show(r, func() error { return out.Printf("%s\n", r.ID) })
	})
	c.Flags().BoolVar(&f.wait, "wait", false, "wait until the request ends, and show its progress")
	c.Flags().StringVar(&f.key, "key", "", "idempotency `key`: to start again with the same key and args returns the same request")
	c.Flags().StringVar(&f.argsFile, "args-file", "", "JSON `file` with args, - for stdin; args on the command line take precedence")
	c.Flags().StringVar(&f.host, "host", "", "run it only on Job Runners of this `host`; it waits until one is available")
	return c
}

// specOf asks for the spec of a request type.
func specOf(ctx context.Context, api *client.Client, requestType string) (proto.RequestSpec, error) {
	specs, err := api.RequestList(ctx)
	if err != nil {
		return proto.RequestSpec{}, err
	}
	return argtext.SpecOf(specs, requestType, "treadle requests lists them")
}

// requestArgs gathers the args of a request from the file and the command line, and
// asks for missing ones on the terminal.
func requestArgs(ctx context.Context, out *term.Out, stdin io.Reader, spec proto.RequestSpec, words []string, file string) (proto.Values, error) {
	args := proto.Values{}
	if file != "" {
		var err error
		if args, err = argtext.ReadFile(stdin, file); err != nil {
			return nil, err
		}
	}
	given, err := argtext.Parse(spec, words)
	if err != nil {
		return nil, err
	}
	maps.Copy(args, given)
	wanted := argtext.Missing(spec, args)
	if len(wanted) == 0 {
		return args, nil
	}
	tty, ok := term.Terminal(stdin)
	if !ok || file == "-" {
		names := make([]string, len(wanted))
		for i, a := range wanted {
			names[i] = a.Name + "=..."
		}
		return nil, verb.Usagef("%s needs %s; treadle help %s describes them",
			spec.Name, strings.Join(names, " "), spec.Name)
	}
	return args, newAsker(tty, out.Stderr).ask(ctx, wanted, args)
}
