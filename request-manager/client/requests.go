package client

import (
	"context"
	"net/url"

	"github.com/treadle-run/treadle/internal/httpclient"
	"github.com/treadle-run/treadle/proto"
)

// CreateRequest asks for a request. With a key (at most 255 printable ASCII
// characters) it is created once, however often the call is made; without one, "",
// an error CodeUnavailable leaves open whether it was created.
func (c *Client) CreateRequest(ctx context.Context, r proto.CreateRequest, key string) (proto.Request, error) {
	call := httpclient.Call{Method: "POST", Base: c.url, Path: "/api/v1/requests", Body: r}
	if key != "" {
		call.Header, call.Repeat = map[string]string{"Idempotency-Key": key}, true
	}
	var req proto.Request
	call.Out = &req
	err := c.http.Do(ctx, call)
	return req, err
}

// GetRequest returns a request with its args and its job chain.
func (c *Client) GetRequest(ctx context.Context, id string) (proto.Request, error) {
	var r proto.Request
	err := c.get(ctx, requestPath(id, ""), nil, &r)
	return r, err
}

// StopRequest asks to stop a request. It ends STOPPED, soon but not at once.
func (c *Client) StopRequest(ctx context.Context, id string) error {
	return c.http.Do(ctx, httpclient.Call{Method: "PUT", Base: c.url, Path: requestPath(id, "/stop")})
}

// FindRequests returns the requests that the filter lets through, newest first,
// without args and job chains.
func (c *Client) FindRequests(ctx context.Context, f proto.RequestFilter) ([]proto.Request, error) {
	var found []proto.Request
	err := c.get(ctx, "/api/v1/requests", filterQuery(f), &found)
	return found, err
}

// filterQuery writes a filter as a query.
func filterQuery(f proto.RequestFilter) url.Values {
	q := url.Values{}
	if f.Type != "" {
		q.Set("type", f.Type)
	}
	if f.User != "" {
		q.Set("user", f.User)
	}
	for _, s := range f.States {
		q.Add("state", s.String())
	}
	for name, value := range f.Args {
		q.Add("arg", name+"="+value)
	}
	setTime(q, "since", f.Since)
	setTime(q, "until", f.Until)
	setCount(q, "limit", f.Limit)
	setCount(q, "offset", f.Offset)
	return q
}

// RequestList returns the requests that users can ask for, with their args.
func (c *Client) RequestList(ctx context.Context) ([]proto.RequestSpec, error) {
	var specs []proto.RequestSpec
	err := c.get(ctx, "/api/v1/request-list", nil, &specs)
	return specs, err
}

// JobLog returns the entries of a request's job log, oldest first.
func (c *Client) JobLog(ctx context.Context, id string) ([]proto.JobLog, error) {
	var entries []proto.JobLog
	err := c.get(ctx, requestPath(id, "/log"), nil, &entries)
	return entries, err
}

// Running returns what runs now, of one request or, for "", of all. It is ordered
// by orderBy: "startTime" or "", which is the same.
func (c *Client) Running(ctx context.Context, requestID, orderBy string) (proto.RunningStatus, error) {
	q := url.Values{}
	if requestID != "" {
		q.Set("requestId", requestID)
	}
	if orderBy != "" {
		q.Set("orderBy", orderBy)
	}
	var running proto.RunningStatus
	err := c.get(ctx, "/api/v1/status/running", q, &running)
	return running, err
}
