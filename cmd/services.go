package cmd

import (
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/cmd/internal/version"
	"github.com/treadle-run/treadle/job"
	jr "github.com/treadle-run/treadle/job-runner/app"
	rm "github.com/treadle-run/treadle/request-manager/app"
)

// services are what the services of this program run with. Logs go to stderr.
type services struct {
	registry *job.Registry
	env      verb.Environment
	out      *term.Out
}

func (s services) managerDeps(cfg rm.Config, ready func(addr string)) rm.Deps {
	return rm.Deps{Registry: s.registry, Logger: cfg.Log.Logger(s.out.Stderr), Version: version.Get().Version, Ready: ready}
}

func (s services) runnerDeps(cfg jr.Config, ready func(addr string)) jr.Deps {
	return jr.Deps{Registry: s.registry, Logger: cfg.Log.Logger(s.out.Stderr), Version: version.Get().Version, Ready: ready}
}

func requestManagerVerb(s services) *cobra.Command {
	var path string
	return verb.ConfigFlag(&cobra.Command{
		Use:   "request-manager",
		Short: "Run a Request Manager: the API that users call",
		Long: `Runs a Request Manager until SIGINT or SIGTERM; SIGHUP does not end it. It migrates the database, reads the
specs, and serves the API. Each key of the configuration can also be set by an environment
variable, which takes precedence: server.addr by TREADLE_SERVER_ADDR.`,
		Example: `  treadle request-manager --config request-manager.yaml
  TREADLE_SQLITE_PATH=treadle.db treadle request-manager`,
		Args: verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg := rm.Default()
			if err := verb.LoadConfig(s.env, path, &cfg, rm.Config.Validate); err != nil {
				return err
			}
			outlive()
			return rm.Run(c.Context(), cfg, s.managerDeps(cfg, nil))
		},
	}, &path)
}

func jobRunnerVerb(s services) *cobra.Command {
	var path string
	return verb.ConfigFlag(&cobra.Command{
		Use:   "job-runner",
		Short: "Run a Job Runner: it runs the jobs of requests",
		Long: `Runs a Job Runner until SIGINT or SIGTERM; SIGHUP does not end it. Then it accepts no more job chains, stops its
running jobs, hands its job chains back so that other runners resume them, and ends within
shutdown_timeout. A second signal ends it at once. Each key of the configuration can also
be set by an environment variable, which takes precedence: server.addr by
TREADLE_SERVER_ADDR.`,
		Example: `  treadle job-runner --config job-runner.yaml
  TREADLE_RM_CLIENT_URL=http://127.0.0.1:32308 treadle job-runner`,
		Args: verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg := jr.Default()
			if err := verb.LoadConfig(s.env, path, &cfg, jr.Config.Validate); err != nil {
				return err
			}
			outlive()
			return jr.Run(c.Context(), cfg, s.runnerDeps(cfg, nil))
		},
	}, &path)
}
