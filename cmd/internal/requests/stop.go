package requests

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

func stopVerb(m *verb.Manager) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:   "stop ID...",
		Short: "Stop requests: no job starts any more, running jobs are told to stop",
		Long: `Stops requests: no job starts any more, and running jobs are told to stop. Once they
have ended, the request is STOPPED. A stop cannot be undone.

If one request cannot be stopped, the others are stopped nevertheless; the exit code is
that of the first error. With --output json, the output is a list if there are several
IDs.`,
		Example: `  treadle stop d3k1b2v0s5mg00a1b2c0
  treadle stop d3k1b2v0s5mg00a1b2c0 d3k1b2v0s5mg00a1b2d0`,
		Args: verb.Takes(1, -1, "the ID of at least one request"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		if len(args) == 1 {
			r, err := stop(ctx, api, requestID(args))
			if err != nil {
				return err
			}
			return showStatus(out, r)
		}
		return stopAll(ctx, api, out, args)
	})
}

// stop stops one request, and returns it.
func stop(ctx context.Context, api *client.Client, id string) (proto.Request, error) {
	if err := api.StopRequest(ctx, id); err != nil {
		return proto.Request{}, err
	}
	return api.GetRequest(ctx, id)
}

// stopAll stops all it can. The error is the first one, and has been said.
func stopAll(ctx context.Context, api *client.Client, out *term.Out, ids []string) error {
	stopped := []proto.Request{}
	code := verb.ExitOK
	for _, id := range ids {
		r, err := stop(ctx, api, strings.TrimSpace(id))
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			out.Say("treadle: %s: %s", term.Clean(id), verb.Message(err))
			if code == verb.ExitOK {
				code = verb.ExitCode(err)
			}
			continue
		}
		stopped = append(stopped, withoutChain(r))
	}
	err := out.Show(stopped, func() error {
		for _, r := range stopped {
			if err := out.Printf("%s\n", statusLine(r, out.Now())); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, verb.Exit(code))
}
