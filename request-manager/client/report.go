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
