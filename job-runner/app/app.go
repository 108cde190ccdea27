// Package app puts a Job Runner together: configuration, wiring, and the order
// in which things start and stop. It is the only place of the runner that knows
// the Request Manager's client.
package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/xid"

	"github.com/treadle-run/treadle/config"
	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/internal/httpserve"
	"github.com/treadle-run/treadle/internal/supervise"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/job-runner/api"
	"github.com/treadle-run/treadle/job-runner/run"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

// Deps are what a Job Runner is given by the program that it runs in.
type Deps struct {
	Registry *job.Registry
	Logger   *slog.Logger
	Version  string
	// Ready, if not nil, is called with the address once the runner listens.
	Ready func(addr string)
}

// Run runs a Job Runner until ctx ends. Then it accepts no new chains, suspends
// those it has and hands them back. The error says why it could not start, or what
// it could not hand back.
func Run(ctx context.Context, cfg Config, deps Deps) error {
	c, err := loadCredentials(cfg, deps.Logger)
	if err != nil {
		return err
	}
	ln, err := httpserve.Listen(cfg.Server.Addr, c.serverTLS)
	if err != nil {
		return err
	}
	self, err := register(cfg, ln.Addr(), deps.Version)
	if err != nil {
		return err
	}
	rm := client.New(client.Config{URL: cfg.RMClient.URL, Secret: string(c.secret), TLS: c.rmTLS})
	defer rm.Close()
	supervisor := supervise.NewAs(deps.Logger, c.jobUser)
	// The manager counts the earlier runner at this address as lost as soon as this one
	// registers: so all its commands must have ended.
	if err := supervisor.Succeed(ctx, self.URL); err != nil {
		if ctx.Err() != nil {
			return nil // told to end before it started
		}
		return fmt.Errorf("replacing the earlier job runner at this address: %w", err)
	}
	runner := run.New(run.Config{
		Self: self, Registry: deps.Registry, RM: rm, Logger: deps.Logger, ShutdownTimeout: cfg.ShutdownTimeout,
		MaxDataSize: cfg.Limits.Data,
		Leased:      supervisor.Lease,
		JobContext:  func(ctx context.Context) context.Context { return supervise.With(ctx, supervisor) },
	})
	handler := api.New(api.Config{
		Version: deps.Version, BaseURL: self.URL, Secret: string(c.secret), Registry: prometheus.NewRegistry(),
		Guard: httpjson.Guard{
			Names:       config.ServerNames(cfg.Server.Addr, cfg.Server.URL, cfg.Server.Names),
			Certificate: httpjson.ServerCertificate(c.serverTLS),
		},
	}, runner, deps.Logger)

	deps.Logger.Info("job runner is listening", "addr", ln.Addr().String(), "url", self.URL, "runner", self.ID, "rm", cfg.RMClient.URL)
	if deps.Ready != nil {
		deps.Ready(ln.Addr().String())
	}
	err = serve(ctx, runner, supervisor.Run, func(ctx context.Context) error {
		return httpserve.Serve(ctx, ln, handler, cfg.ShutdownTimeout, deps.Logger)
	})
	if err == nil {
		deps.Logger.Info("job runner has shut down: all job chains are handed back")
	}
	return err
}

// serve runs everything until ctx ends, or the API cannot be served any more. The order
// of the end: the runner hands its chains back while the API still answers (what runs
// now, and that nothing new is accepted) and commands are supervised; then the API and
// the supervisor end.
func serve(ctx context.Context, runner *run.Runner, superviseCommands func(context.Context), serveAPI func(context.Context) error) error {
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	running, stopRunning := context.WithCancel(ctx)
	defer stopRunning()
	var (
		served   sync.WaitGroup
		serveErr error
	)
	served.Go(func() { superviseCommands(serving) })
	served.Go(func() {
		serveErr = serveAPI(serving)
		stopRunning()
	})
	runErr := runner.Run(running)
	stopServing()
	served.Wait()
	return cmp.Or(serveErr, runErr)
}

// credentials are what the runner proves itself with, and whom its commands run as.
type credentials struct {
	secret           config.Secret
	rmTLS, serverTLS *tls.Config
	jobUser          *supervise.User // nil: that of the runner
}

// loadCredentials checks the configuration, goes to the directory that jobs run in, and
// reads the files that the configuration names.
func loadCredentials(cfg Config, log *slog.Logger) (c credentials, err error) {
	if err := cfg.Validate(); err != nil {
		return c, err
	}
	if cfg.WorkDir != "" {
		if err := os.Chdir(cfg.WorkDir); err != nil {
			return c, fmt.Errorf("work_dir: %w", err)
		}
	}
	if c.rmTLS, err = cfg.RMClient.TLS.Client(); err != nil {
		return c, fmt.Errorf("rm_client.tls: %w", err)
	}
	if c.serverTLS, err = cfg.Server.TLS.Server(); err != nil {
		return c, fmt.Errorf("server.tls: %w", err)
	}
	mutual := cfg.Server.TLS.Mutual() && cfg.RMClient.TLS.CertFile != ""
	if c.secret, err = cfg.Cluster.Load(mutual); err != nil {
		return c, err
	}
	c.jobUser, err = userOfJobs(cfg, log)
	return c, err
}

// userOfJobs finds the user whom commands run as; nil is that of the runner.
func userOfJobs(cfg Config, log *slog.Logger) (*supervise.User, error) {
	if cfg.RunAs == "" {
		if os.Geteuid() == 0 {
			log.Warn("commands run as root: they can read what the job runner knows; set run_as to an unprivileged user")
		}
		return nil, nil
	}
	u, err := supervise.LookupUser(cfg.RunAs)
	if err != nil {
		return nil, fmt.Errorf("run_as: %w", err)
	}
	return u, nil
}

// register says how the runner registers.
func register(cfg Config, addr net.Addr, version string) (proto.Runner, error) {
	self := proto.Runner{
		ID: xid.New().String(), URL: cfg.Server.URL, Host: cfg.Host, PID: os.Getpid(),
		Version: version, Labels: cfg.Labels, Capacity: cfg.Capacity,
	}
	if self.URL == "" {
		scheme := "http"
		if cfg.Server.TLS.Set() {
			scheme = "https"
		}
		self.URL = scheme + "://" + addr.String()
	}
	if self.Host == "" {
		host, err := os.Hostname()
		if err != nil {
			return self, fmt.Errorf("host: cannot get the name of this host, set it: %w", err)
		}
		self.Host = host
	}
	return self, nil
}
