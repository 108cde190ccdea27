package requests

import (
	"context"
	"errors"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

// waitFor shows progress of the request until it ends, and returns its result as exit
// code. Ctrl-C ends the waiting, not the request.
func waitFor(ctx context.Context, out *term.Out, api *client.Client, id string) error {
	err := showToEnd(ctx, out, api, id)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		out.Say("treadle: no longer waiting, but request %[1]s keeps running; watch it with treadle watch %[1]s, stop it with treadle stop %[1]s", id)
		return verb.Exit(verb.ExitInterrupted)
	}
	return err
}

// showToEnd shows progress of the request until it ends, and returns its result as
// exit code.
func showToEnd(ctx context.Context, out *term.Out, api *client.Client, id string) error {
	show := out.Progress()
	show.Note("%s", term.Clean(id))
	r, err := follow(ctx, out, api, id, show)
	show.End()
	if err != nil {
		return err
	}
	if out.JSON() {
		if err := out.PrintJSON(r); err != nil {
			return err
		}
	} else if err := out.Printf("%s\n", outcome(r)); err != nil {
		return err
	}
	return verb.Exit(code(r.State))
}

// outcome says how a request ended, and what to look at next.
func outcome(r proto.Request) string {
	s := r.State.String()
	if r.FinishedAt != nil {
		s += " after " + term.Length(r.FinishedAt.Sub(r.CreatedAt))
	}
	s += ", " + jobs(r) + " jobs"
	if r.Reason != "" {
		s += ": " + term.Clean(r.Reason)
	}
	if r.State == proto.StateFail {
		s += "\nsee: treadle log " + r.ID
	}
	return s
}

// code is the exit code of a request that was waited for.
func code(s proto.State) int {
	if s == proto.StateComplete {
		return verb.ExitOK
	}
	return verb.ExitFailed
}
