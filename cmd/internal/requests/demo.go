package requests

import (
	"context"
	"errors"

	"github.com/rs/xid"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

// Demo starts a request without args and shows its progress until it ends, and the
// output of its jobs. It is no error if the request fails.
func Demo(ctx context.Context, api *client.Client, out *term.Out, requestType string) error {
	out.Say("\nstarting a demo request: treadle start %s --wait", requestType)
	r, err := api.CreateRequest(ctx, proto.CreateRequest{Type: requestType}, xid.New().String())
	if err != nil {
		return err
	}
	// Ctrl-C ends the Request Manager, too: nothing is left to say of the request.
	if err := showToEnd(ctx, out, api, r.ID); err != nil {
		if _, ok := errors.AsType[*verb.ExitError](err); ok {
			return nil
		}
		return err
	}
	entries, err := api.JobLog(ctx, r.ID)
	if err != nil {
		return err
	}
	return log(out, entries, true)
}
