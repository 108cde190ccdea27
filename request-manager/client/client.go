// Package client calls the Request Manager: for users all they can ask for, for
// runners their reports. It imports proto and httpclient.
package client

import (
	"context"
	"crypto/tls"
	"net/url"
	"time"

	"github.com/treadle-run/treadle/internal/httpclient"
	"github.com/treadle-run/treadle/proto"
)

// Config says how to call a Request Manager.
type Config struct {
	// URL is its base URL, such as "http://127.0.0.1:32308".
	URL string
	// Secret of the cluster; only runners need it.
	Secret string
	// User is the name of the caller; "" is anonymous.
	User string
	// TLS is for an https URL; nil has the defaults of crypto/tls.
	TLS *tls.Config
	// Timeout bounds each try of a call (default 30 s).
	Timeout time.Duration
}

// Client calls one Request Manager. It is safe for concurrent use.
//
// Errors are *proto.Error, with the code of the status that was answered, or
// CodeUnavailable if no answer came; a ctx that was cancelled gives its own
// error. Calls that only read, and CreateRequest with a key, are made up to four
// times in all while the error is CodeUnavailable; no other call is repeated.
type Client struct {
	http *httpclient.Client
	url  string
}

// New returns a client.
func New(cfg Config) *Client {
	return &Client{url: cfg.URL, http: httpclient.New(httpclient.Config{
		Service: "request manager", Secret: cfg.Secret, User: cfg.User, UserHeader: "X-Treadle-User",
		TLS: cfg.TLS, Timeout: cfg.Timeout,
	})}
}

// Close closes connections that no call uses.
func (c *Client) Close() { c.http.Close() }

// get reads a path into out.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.http.Do(ctx, httpclient.Call{Method: "GET", Base: c.url, Path: path, Query: query, Out: out, Repeat: true})
}

// requestPath returns the path of a request, and of what is below it.
func requestPath(id string, below string) string {
	return "/api/v1/requests/" + url.PathEscape(id) + below
}

// Runners returns the registered runners.
func (c *Client) Runners(ctx context.Context) ([]proto.Runner, error) {
	var runners []proto.Runner
	err := c.get(ctx, "/api/v1/job-runners", nil, &runners)
	return runners, err
}

// Drain asks a runner to hand back its job chains and accept no new ones, or (off) to
// accept job chains again.
func (c *Client) Drain(ctx context.Context, runner string, on bool) error {
	query := url.Values{"on": {"false"}}
	if on {
		query.Set("on", "true")
	}
	return c.http.Do(ctx, httpclient.Call{
		Method: "PUT", Base: c.url, Path: "/api/v1/job-runners/" + url.PathEscape(runner) + "/drain", Query: query,
	})
}
