// Package client calls Job Runners: it hands chains over, stops them and asks
// what runs. It imports proto and
// httpclient.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net/url"
	"time"

	"github.com/treadle-run/treadle/internal/httpclient"
	"github.com/treadle-run/treadle/proto"
)

// Config says how to call runners.
type Config struct {
	// Secret of the cluster, if it has one.
	Secret string
	// TLS is for https URLs; nil has the defaults of crypto/tls.
	TLS *tls.Config
	// Allow, if not nil, refuses addresses, as host:port, that must not be called.
	Allow func(address string) error
	// Timeout bounds each call (default 30 s).
	Timeout time.Duration
}

// Client calls Job Runners. It is safe for concurrent use. Errors are
// *proto.Error: those of the runner, or CodeUnavailable if no answer came, which
// leaves open whether the runner got the call. No call is made again by itself.
type Client struct {
	http *httpclient.Client
}

// New returns a client.
func New(cfg Config) *Client {
	return &Client{http: httpclient.New(httpclient.Config{
		Service: "job runner", Secret: cfg.Secret, TLS: cfg.TLS, Timeout: cfg.Timeout, Allow: cfg.Allow,
	})}
}

// Close closes connections that no call uses.
func (c *Client) Close() { c.http.Close() }

// StartChain hands a chain over to a runner, by its ID and URL. The body is the
// JSON of its proto.JobChain. To hand over the same chain again is harmless.
func (c *Client) StartChain(ctx context.Context, to proto.Runner, requestID string, epoch uint64, body []byte) error {
	return c.handOver(ctx, to, "/api/v1/job-chains", requestID, epoch, body)
}

// ResumeChain is StartChain for a suspended chain. The body is the JSON of its
// proto.SuspendedJobChain.
func (c *Client) ResumeChain(ctx context.Context, to proto.Runner, requestID string, epoch uint64, body []byte) error {
	return c.handOver(ctx, to, "/api/v1/job-chains/resume", requestID, epoch, body)
}

func (c *Client) handOver(ctx context.Context, to proto.Runner, path, requestID string, epoch uint64, body []byte) error {
	header := httpclient.EpochHeader(epoch)
	if to.ID != "" {
		header[proto.RunnerHeader] = to.ID
	}
	err := c.http.Do(ctx, httpclient.Call{Method: "POST", Base: to.URL, Path: path, Header: header, Body: body})
	return withRequestID(requestID, err)
}

// StopChain asks the runner to stop the chain of a request.
func (c *Client) StopChain(ctx context.Context, base, requestID string) error {
	err := c.http.Do(ctx, httpclient.Call{
		Method: "PUT", Base: base, Path: "/api/v1/job-chains/" + url.PathEscape(requestID) + "/stop",
	})
	return withRequestID(requestID, err)
}

// Running returns what runs on the runner, oldest first.
func (c *Client) Running(ctx context.Context, base string) ([]proto.JobStatus, error) {
	var running []proto.JobStatus
	err := c.http.Do(ctx, httpclient.Call{
		Method: "GET", Base: base, Path: "/api/v1/status/running", Out: &running,
	})
	return running, err
}

// Identify returns the ID of the runner at a base URL.
func (c *Client) Identify(ctx context.Context, base string) (string, error) {
	var who proto.RunnerIdentity
	err := c.http.Do(ctx, httpclient.Call{Method: "GET", Base: base, Path: "/api/v1/runner", Out: &who})
	return who.ID, err
}

// withRequestID says in an error which request it is about.
func withRequestID(requestID string, err error) error {
	if e, ok := errors.AsType[*proto.Error](err); ok && e.RequestID == "" {
		return e.ForRequest(requestID)
	}
	return err
}
