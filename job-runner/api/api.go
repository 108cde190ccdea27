// Package api is the HTTP API of the Job Runner. Only Request Managers call it.
//
// A handler decodes, makes one call to the Runner, and encodes. The package
// knows nothing of how chains run; it imports proto and httpjson.
package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// Runner is what the API needs from the core of the Job Runner. Errors for the
// caller are *proto.Error; any other error is answered as "internal error".
type Runner interface {
	// Start takes a chain. Taking the same chain twice under one epoch is harmless.
	Start(ctx context.Context, h proto.HandOver, jc *proto.JobChain) error
	// Resume is Start for a chain that ran before.
	Resume(ctx context.Context, h proto.HandOver, sjc *proto.SuspendedJobChain) error
	Stop(ctx context.Context, requestID string) error
	// Running has the jobs that run now, oldest first.
	Running() []proto.JobStatus
	Ready(ctx context.Context) error
	// ID is the one that the runner is registered under, or about to be.
	ID() string
}

// Config is what the API can be told. Zero fields have the defaults.
type Config struct {
	// Version is what GET /version says.
	Version string
	// BaseURL is how Request Managers reach this runner, such as
	// "http://10.0.0.7:32307"; default: as the caller did.
	BaseURL string
	// Guard keeps web pages out.
	Guard httpjson.Guard
	// Secret of the cluster; if set, callers must know it.
	Secret string
	// BodyLimit is the limit of a body, in bytes (default 512 MiB).
	BodyLimit int64
	// Registry has the metrics; default: one of its own.
	Registry *prometheus.Registry
}

func (c Config) withDefaults() Config {
	c.BodyLimit = cmp.Or(c.BodyLimit, 512<<20)
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	return c
}

// server holds what handlers need.
type server struct {
	cfg    Config
	runner Runner
}

// New returns the API over the runner.
func New(cfg Config, r Runner, log *slog.Logger) http.Handler {
	cfg = cfg.withDefaults()
	s := &server{cfg: cfg, runner: r}
	metrics := httpjson.NewMetrics(cfg.Registry, "job-runner")
	return httpjson.New(s.routes(), cfg.Guard, metrics, log)
}

// routes is the table of all routes.
func (s *server) routes() []httpjson.Route {
	member := []echo.MiddlewareFunc{httpjson.Secret(s.cfg.Secret)}
	return []httpjson.Route{
		{Method: "POST", Path: "/api/v1/job-chains", Handle: s.startChain, Before: member},
		{Method: "POST", Path: "/api/v1/job-chains/resume", Handle: s.resumeChain, Before: member},
		{Method: "PUT", Path: "/api/v1/job-chains/:id/stop", Handle: s.stopChain, Before: member},
		{Method: "GET", Path: "/api/v1/runner", Handle: s.identify, Before: member},
		{Method: "GET", Path: "/api/v1/status/running", Handle: s.getRunning, Before: member},
		{Method: "GET", Path: "/readyz", Handle: s.ready}, // a probe has no secret
		{Method: "GET", Path: "/metrics", Handle: httpjson.Expose(s.cfg.Registry), Before: member},
		{Method: "GET", Path: "/version", Handle: httpjson.Version(s.cfg.Version)},
		{Method: "GET", Path: "/healthz", Handle: httpjson.Healthz},
	}
}
