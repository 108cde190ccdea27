package cmd

import (
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/request-manager/app"
)

func (p *program) requestManagerVerb() *cobra.Command {
	var path string
	return configFlag(&cobra.Command{
		Use:   "request-manager",
		Short: "Run a Request Manager: the API that users call",
		Long: `Runs a Request Manager until SIGINT or SIGTERM. It migrates the database, reads the
specs, and serves. Every key of its configuration has an environment variable that
wins over the file: TREADLE_SERVER_ADDR for server.addr.`,
		Example: `  treadle request-manager --config request-manager.yaml
  TREADLE_SQLITE_PATH=treadle.db treadle request-manager`,
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
