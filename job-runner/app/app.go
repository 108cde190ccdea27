// Package app puts a Job Runner together: configuration, wiring, and the order
// in which things start and stop. It is the only place of the runner that knows
// the Request Manager's client.
package app

import (
	"context"
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
	if err := cfg.Validate(); err != nil {
		return err
	}
	if cfg.WorkDir != "" {
		if err := os.Chdir(cfg.WorkDir); err != nil {
			return fmt.Errorf("work_dir: %w", err)
		}
	}
	rmTLS, err := cfg.RMClient.TLS.Client()
	if err != nil {
		return fmt.Errorf("rm_client.tls: %w", err)
	}
	mutual := cfg.Server.TLS.Mutual() && cfg.RMClient.TLS.CertFile != ""
	secret, err := cfg.Cluster.Load(mutual)
	if err != nil {
		return err
	}
	serverTLS, err := cfg.Server.TLS.Server()
	if err != nil {
		return fmt.Errorf("server.tls: %w", err)
	}
	ln, err := httpserve.Listen(cfg.Server.Addr, serverTLS)
	if err != nil {
		return err
	}
	self, err := register(cfg, ln.Addr(), deps.Version)
	if err != nil {
		return err
	}
	rm := client.New(client.Config{URL: cfg.RMClient.URL, Secret: string(secret), TLS: rmTLS})
	defer rm.Close()
	jobUser, err := userOfJobs(cfg, deps.Logger)
	if err != nil {
		return err
	}
	supervisor := supervise.NewAs(deps.Logger, jobUser)
	// The manager takes what was at this address for dead as soon as this runner
	// registers: so must all its commands be.
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
		Version: deps.Version, BaseURL: self.URL, Secret: string(secret), Registry: prometheus.NewRegistry(),
		Guard: httpjson.Guard{
			Names:       config.ServerNames(cfg.Server.Addr, cfg.Server.URL, cfg.Server.Names),
			Certificate: httpjson.ServerCertificate(serverTLS),
		},
	}, runner, deps.Logger)

	deps.Logger.Info("job runner is listening", "addr", ln.Addr().String(), "url", self.URL, "runner", self.ID, "rm", cfg.RMClient.URL)
	if deps.Ready != nil {
		deps.Ready(ln.Addr().String())
	}
	// The order of the end: the runner hands its chains back while the API still
	// answers (what runs now, and that nothing new is taken) and commands are
	// supervised; then the API and the supervisor end.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	running, stopRunning := context.WithCancel(ctx)
	defer stopRunning()
	var (
		served   sync.WaitGroup
		serveErr error
	)
	served.Go(func() { supervisor.Run(serving) })
	served.Go(func() {
		serveErr = httpserve.Serve(serving, ln, handler, cfg.ShutdownTimeout, deps.Logger)
		stopRunning()
	})
	runErr := runner.Run(running)
	stopServing()
	served.Wait()
	if serveErr != nil {
		return serveErr
	}
	if runErr == nil {
		deps.Logger.Info("job runner has shut down: all job chains are handed back")
	}
	return runErr
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
