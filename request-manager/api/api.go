// Package api is the HTTP API of the Request Manager: the v1 API for users and
// the routes on which Job Runners report.
//
// A handler decodes, makes one call to a service, and encodes. The package
// knows nothing of the database, of specs, of calendars or of runners; it imports
// proto and httpjson.
package api

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// Config is what the API can be told. Zero fields have the defaults.
type Config struct {
	// Version is what GET /version says.
	Version string
	// Guard keeps web pages out.
	Guard httpjson.Guard
	// Secret of the cluster; if set, runners must know it to report.
	Secret string
	// Limits in bytes: BodyLimit of the body of a user (default 8 MiB, and room for the
	// args), RunnerBodyLimit of that of a runner (512 MiB), ArgsLimit of the args of a
	// request (1 MiB).
	BodyLimit, RunnerBodyLimit, ArgsLimit int64
	// Watchers is how many event streams may be open at a time (default 512).
	Watchers int
	// Closing, once closed, ends the event streams: they would hold up a shutdown.
	Closing <-chan struct{}
	// Registry has the metrics; default: one of its own.
	Registry *prometheus.Registry
}

func (c Config) withDefaults() Config {
	c.RunnerBodyLimit = cmp.Or(c.RunnerBodyLimit, 512<<20)
	c.ArgsLimit = cmp.Or(c.ArgsLimit, proto.DefaultArgsSize)
	c.BodyLimit = cmp.Or(c.BodyLimit, max(8<<20, 2*c.ArgsLimit))
	c.Watchers = cmp.Or(c.Watchers, 512)
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	return c
}

// server holds what handlers need.
type server struct {
	cfg Config
	log *slog.Logger

	requests  Requests
	reader    Reader
	logs      Logs
	watcher   Watcher
	reports   Reports
	runners   Runners
	apps      Apps
	instances Instances
	ledger    Ledger
	members   Members

	watchers chan struct{} // has a place for each event stream that may be open
	poll     time.Duration // how often an event stream reads the request without being woken
	beat     time.Duration // how often an event stream shows that it is alive
}

// New returns the API over the services.
func New(cfg Config, with Services, log *slog.Logger) http.Handler {
	cfg = cfg.withDefaults()
	s := &server{
		cfg: cfg, log: log,
		requests: with.Requests, reader: with.Reader, logs: with.Logs, watcher: with.Watcher,
		reports: with.Reports, runners: with.Runners,
		apps: with.Apps, instances: with.Instances, ledger: with.Ledger, members: with.Members,
		watchers: make(chan struct{}, cfg.Watchers),
		poll:     3 * time.Second,
		beat:     15 * time.Second,
	}
	metrics := httpjson.NewMetrics(cfg.Registry, "request-manager")
	e := httpjson.New(s.routes(), cfg.Guard, metrics, log)
	e.Use(oddIDs)
	return e
}

// routes is the table of all routes: for users, for runners, for operators.
func (s *server) routes() []httpjson.Route {
	user := []echo.MiddlewareFunc{identify, inTime}
	runner := []echo.MiddlewareFunc{httpjson.Secret(s.cfg.Secret)}
	operator := []echo.MiddlewareFunc{httpjson.Secret(s.cfg.Secret), identify, inTime}
	return []httpjson.Route{
		{Method: "POST", Path: "/api/v1/requests", Handle: s.createRequest, Before: user},
		{Method: "GET", Path: "/api/v1/requests", Handle: s.findRequests, Before: user},
		{Method: "GET", Path: "/api/v1/requests/:id", Handle: s.getRequest, Before: user},
		{Method: "GET", Path: "/api/v1/requests/:id/job-chain", Handle: s.getJobChain, Before: user},
		{Method: "PUT", Path: "/api/v1/requests/:id/start", Handle: s.startRequest, Before: user},
		{Method: "PUT", Path: "/api/v1/requests/:id/stop", Handle: s.stopRequest, Before: user},
		{Method: "GET", Path: "/api/v1/requests/:id/log", Handle: s.getLog, Before: user},
		{Method: "GET", Path: "/api/v1/requests/:id/log/:jobID", Handle: s.getLastLog, Before: user},
		{Method: "GET", Path: "/api/v1/requests/:id/events", Handle: s.watchRequest, Before: []echo.MiddlewareFunc{identify}},
		{Method: "GET", Path: "/api/v1/request-list", Handle: s.listSpecs, Before: user},
		{Method: "GET", Path: "/api/v1/status/running", Handle: s.getRunning, Before: user},

		{Method: "PUT", Path: "/api/v1/requests/:id/finish", Handle: s.finishRequest, Before: runner},
		{Method: "PUT", Path: "/api/v1/requests/:id/suspend", Handle: s.suspendRequest, Before: runner},
		{Method: "PUT", Path: "/api/v1/requests/:id/progress", Handle: s.setProgress, Before: runner},
		{Method: "POST", Path: "/api/v1/requests/:id/log", Handle: s.addLog, Before: runner},
		{Method: "POST", Path: "/api/v1/reports", Handle: s.report, Before: runner},
		{Method: "POST", Path: "/api/v1/job-runners", Handle: s.heartbeat, Before: runner},

		{Method: "GET", Path: "/api/v1/apps", Handle: s.listApps, Before: user},
		{Method: "GET", Path: "/api/v1/apps/:name", Handle: s.getApp, Before: user},
		{Method: "PUT", Path: "/api/v1/apps/:name", Handle: s.putApp, Before: user},
		{Method: "DELETE", Path: "/api/v1/apps/:name", Handle: s.deleteApp, Before: user},
		{Method: "PUT", Path: "/api/v1/apps/:name/pause", Handle: s.pauseApp, Before: user},
		{Method: "PUT", Path: "/api/v1/apps/:name/resume", Handle: s.resumeApp, Before: user},
		{Method: "PUT", Path: "/api/v1/apps/:name/undo", Handle: s.undoInstance, Before: user},
		{Method: "POST", Path: "/api/v1/apps/:name/run", Handle: s.runApp, Before: user},
		{Method: "GET", Path: "/api/v1/apps/:name/periods", Handle: s.getPeriods, Before: user},
		{Method: "GET", Path: "/api/v1/apps/:name/next", Handle: s.getNextTimes, Before: user},
		{Method: "GET", Path: "/api/v1/apps/:name/events", Handle: s.getAppEvents, Before: user},
		{Method: "GET", Path: "/api/v1/blocked", Handle: s.getBlocked, Before: user},
		{Method: "GET", Path: "/api/v1/instances", Handle: s.findInstances, Before: user},
		{Method: "GET", Path: "/api/v1/hosts/:host/instances", Handle: s.getHostInstances, Before: user},

		{Method: "GET", Path: "/api/v1/schedule/members", Handle: s.listMembers, Before: user},
		{Method: "PUT", Path: "/api/v1/schedule/shards", Handle: s.setShards, Before: operator},
		{Method: "GET", Path: "/api/v1/job-runners", Handle: s.listRunners, Before: user},
		{Method: "PUT", Path: "/api/v1/job-runners/:runner/drain", Handle: s.drainRunner, Before: operator},
		{Method: "GET", Path: "/version", Handle: httpjson.Version(s.cfg.Version)},
		{Method: "GET", Path: "/healthz", Handle: httpjson.Healthz},
		{Method: "GET", Path: "/readyz", Handle: s.ready},
		{Method: "GET", Path: "/metrics", Handle: httpjson.Expose(s.cfg.Registry), Before: runner},
	}
}
