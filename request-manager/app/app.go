// Package app puts a Request Manager together: configuration, wiring, and the
// order in which things start and stop. It is the only place of the manager that
// knows the Job Runner's client.
package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/xid"

	"github.com/treadle-run/treadle/config"
	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/internal/httpserve"
	"github.com/treadle-run/treadle/job"
	jrclient "github.com/treadle-run/treadle/job-runner/client"
	"github.com/treadle-run/treadle/request-manager/api"
	"github.com/treadle-run/treadle/request-manager/request"
	"github.com/treadle-run/treadle/request-manager/store"
	"github.com/treadle-run/treadle/schedule/engine"
)

const (
	// deliveryTimeout bounds one try to hand a chain to a runner, a large one aside.
	deliveryTimeout = 10 * time.Second
	// callTimeout bounds any call of a runner: what the manager does not bound itself.
	callTimeout = 10 * time.Minute
	// shutdownGrace is how long calls may take to end.
	shutdownGrace = 15 * time.Second
)

// Deps are what a Request Manager is given by the program that it runs in.
type Deps struct {
	Registry *job.Registry
	Logger   *slog.Logger
	Version  string
	// Ready, if not nil, is called with the address once the manager listens.
	Ready func(addr string)
}

// Run runs a Request Manager until ctx ends: it migrates the database, reads the
// specs, and serves. The error says why it could not start, or failed.
func Run(ctx context.Context, cfg Config, deps Deps) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	specs, err := loadSpecs(cfg, deps)
	if err != nil {
		return err
	}
	jrTLS, err := cfg.JRClient.TLS.Client()
	if err != nil {
		return fmt.Errorf("jr_client.tls: %w", err)
	}
	mutual := cfg.Server.TLS.Mutual() && cfg.JRClient.TLS.CertFile != ""
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
	defer ln.Close() //nolint:errcheck // closed by then, unless starting failed
	unlock, err := lockSQLite(cfg.SQLite.Path)
	if err != nil {
		return err
	}
	defer unlock()
	db, err := OpenDatabase(ctx, cfg, deps.Logger)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // nothing is left to save
	if err := db.Migrate(ctx); err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	runners := jrclient.New(jrclient.Config{Secret: string(secret), TLS: jrTLS, Timeout: callTimeout, Allow: request.CheckRunnerAddress})
	defer runners.Close()
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	manager, recurring := wire(cfg, deps, db, specs, runners, metrics)
	handler := api.New(api.Config{
		Version: deps.Version, Secret: string(secret), ArgsLimit: int64(cfg.Limits.Args),
		Closing: ctx.Done(), Registry: metrics,
		Guard: httpjson.Guard{
			Names:       config.ServerNames(cfg.Server.Addr, "", cfg.Server.Names),
			Certificate: httpjson.ServerCertificate(serverTLS),
		},
	}, services(manager, recurring), deps.Logger)
	return serve(ctx, cfg, deps, ln, handler, manager, recurring)
}

// wire makes the manager of requests and the engine of recurring work, of which each
// calls the other.
func wire(cfg Config, deps Deps, db *database.DB, specs *grapher.Specs, runners request.JobRunners, metrics *prometheus.Registry) (*request.Manager, *engine.Engine) {
	managerID := newManagerID()
	var recurring *engine.Engine // nothing calls it before the manager runs
	manager := request.New(request.Config{
		Store: store.New(db), Specs: specs, Runners: runners, Logger: deps.Logger, Registry: metrics,
		ManagerID: managerID, RunnerURL: cfg.JRClient.URL,
		MaxArgsSize: cfg.Limits.Args,
		RunnerTries: cfg.Runner.Tries, RunnerRetryWait: cfg.Runner.RetryWait, DeliveryTimeout: deliveryTimeout,
		Lease: cfg.Lease, SuspendTTL: cfg.Resumer.TTL, ClaimTimeout: cfg.Resumer.ClaimTimeout, ResumeEvery: cfg.Resumer.Interval,
		Ended:  func(ids ...string) { recurring.Ended(ids...) },
		HostUp: func(host string) { recurring.HostUp(host) },
	})
	recurring = newEngine(cfg, deps, db, specs, manager, managerID, metrics)
	return manager, recurring
}

// services says who serves which part of the API.
func services(m *request.Manager, e *engine.Engine) api.Services {
	return api.Services{
		Requests: m, Reader: m, Logs: m, Watcher: m, Reports: m, Runners: m,
		Apps: e, Instances: e, Ledger: e, Members: e,
	}
}

// serve serves until ctx ends. The order of the end: calls that are under way
// get their answers while all else still runs; then the schedule engine lets go of what
// it works on, which needs the manager; then the manager's roles end.
func serve(ctx context.Context, cfg Config, deps Deps, ln net.Listener, handler http.Handler, manager *request.Manager, recurring *engine.Engine) error {
	deps.Logger.Info("request manager is listening", "addr", ln.Addr().String())
	if deps.Ready != nil {
		deps.Ready(ln.Addr().String())
	}
	stopManager := start(ctx, manager.Run)
	defer stopManager()
	stopEngine := func() {}
	if cfg.Schedule.Enabled {
		stopEngine = start(ctx, recurring.Run)
	} else {
		deps.Logger.Info("this request manager does not run recurring work (schedule.enabled is false)")
	}
	defer stopEngine()
	err := httpserve.Serve(ctx, ln, handler, shutdownGrace, deps.Logger)
	stopEngine()
	stopManager()
	if err == nil {
		deps.Logger.Info("request manager has shut down")
	}
	return err
}

// start runs something that outlives ctx, until the function that it returns is
// called: that one waits for the end, and may be called again.
func start(ctx context.Context, run func(context.Context)) (stop func()) {
	living, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { run(living) })
	return func() {
		cancel()
		running.Wait()
	}
}

// OpenDatabase opens the database of the configuration. It does not migrate it.
func OpenDatabase(ctx context.Context, cfg Config, log *slog.Logger) (*database.DB, error) {
	key, err := cfg.Secrets.Key()
	if err != nil {
		return nil, err
	}
	dbTLS, err := cfg.MySQL.TLS.Client()
	if err != nil {
		return nil, fmt.Errorf("mysql.tls: %w", err)
	}
	return database.Open(ctx, database.Config{
		MySQLDSN: string(cfg.MySQL.DSN), SQLitePath: cfg.SQLite.Path, TLS: dbTLS,
		Tries: cfg.DB.Tries, RetryWait: cfg.DB.RetryWait, SecretsKey: key, Logger: log,
	})
}

func loadSpecs(cfg Config, deps Deps) (*grapher.Specs, error) {
	limits := grapher.DefaultLimits
	limits.Jobs, limits.Depth = cfg.Limits.Jobs, cfg.Limits.Depth
	specs, problems, err := grapher.Load(cfg.Specs.Dir, grapher.Options{
		Registry: deps.Registry, Warn: cfg.Specs.Warn, Limits: limits,
	})
	if err != nil {
		return nil, fmt.Errorf("specs.dir: %w", err)
	}
	var errs []string
	for _, p := range problems {
		if p.Severity == problem.Error {
			errs = append(errs, p.String())
			continue
		}
		deps.Logger.Warn("spec", "problem", p.String())
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("the specs in %s have %d errors:\n%s", cfg.Specs.Dir, len(errs), strings.Join(errs, "\n"))
	}
	if cfg.Secrets.KeyFile == "" && specs.HaveSecrets() {
		return nil, fmt.Errorf("secrets.key_file: a spec in %s has a secret arg, so that a key is needed to seal it with", cfg.Specs.Dir)
	}
	deps.Logger.Info("specs read", "dir", cfg.Specs.Dir, "sequences", len(specs.Sequences), "requests", len(specs.Requests()))
	return specs, nil
}

// newManagerID names this process in claims: readable, and never used before.
func newManagerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%.60s/%d/%s", host, os.Getpid(), xid.New())
}
