package cmd

import (
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/job-runner/app"
)

func (p *program) jobRunnerVerb() *cobra.Command {
	var path string
	return configFlag(&cobra.Command{
		Use:   "job-runner",
		Short: "Run a Job Runner: it runs the jobs of requests",
		Long: `Runs a Job Runner until SIGINT or SIGTERM. Then it takes nothing new, stops what it
runs, hands it in so that another runner goes on with it, and ends within
shutdown_timeout. A second signal ends it at once. Every key of its configuration has
an environment variable that wins over the file: TREADLE_SERVER_ADDR for server.addr.`,
		Example: `  treadle job-runner --config job-runner.yaml
  TREADLE_RM_CLIENT_URL=http://127.0.0.1:32308 treadle job-runner`,
		Args: takes(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg := app.Default()
			if err := loadConfig(p, path, &cfg); err != nil {
				return err
			}
			return app.Run(c.Context(), cfg, app.Deps{
				Registry: p.registry, Logger: cfg.Log.Logger(p.stderr), Version: version(),
			})
		},
	}, &path)
}
