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

// Demo starts a request without args and shows it to its end, with all that its jobs
// wrote. A request that ends badly has been shown: that is no error.
func Demo(ctx context.Context, api *client.Client, out *term.Out, requestType string) error {
	out.Say("\nstarting a request: treadle start %s --wait", requestType)
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
