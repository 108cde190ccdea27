package client

import (
	"context"

	"github.com/treadle-run/treadle/internal/httpclient"
	"github.com/treadle-run/treadle/proto"
)

// Report sends a batch of news. The call is made once: the runner repeats it in its
// own time.
func (c *Client) Report(ctx context.Context, r proto.Report) (proto.ReportAnswer, error) {
	var answer proto.ReportAnswer
	err := c.http.Do(ctx, httpclient.Call{Method: "POST", Base: c.url, Path: "/api/v1/reports", Body: r, Out: &answer})
	return answer, err
}

// Heartbeat registers a runner or renews its lease. The call is made once.
func (c *Client) Heartbeat(ctx context.Context, r proto.Runner) (proto.HeartbeatAnswer, error) {
	var answer proto.HeartbeatAnswer
	err := c.http.Do(ctx, httpclient.Call{Method: "POST", Base: c.url, Path: "/api/v1/job-runners", Body: r, Out: &answer})
	return answer, err
}

// Finish reports the final state of a chain that ran under the epoch.
func (c *Client) Finish(ctx context.Context, epoch uint64, f proto.Finish) error {
	return c.withRequestID(ctx, "PUT", f.RequestID, "/finish", epoch, f)
}

// Progress reports how many jobs of a chain are done.
func (c *Client) Progress(ctx context.Context, epoch uint64, p proto.Progress) error {
	return c.withRequestID(ctx, "PUT", p.RequestID, "/progress", epoch, p)
}

// AddLog reports one job log entry.
func (c *Client) AddLog(ctx context.Context, epoch uint64, e proto.JobLog) error {
	return c.withRequestID(ctx, "POST", e.RequestID, "/log", epoch, e)
}

// Suspend hands back a suspended chain.
func (c *Client) Suspend(ctx context.Context, epoch uint64, sjc *proto.SuspendedJobChain) error {
	return c.withRequestID(ctx, "PUT", sjc.RequestID, "/suspend", epoch, sjc)
}

// withRequestID sends a report on one request.
func (c *Client) withRequestID(ctx context.Context, method, id, below string, epoch uint64, body any) error {
	return c.http.Do(ctx, httpclient.Call{
		Method: method, Base: c.url, Path: requestPath(id, below), Header: httpclient.EpochHeader(epoch), Body: body,
	})
}
