package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/config"
)

// configuration is what both services' configurations can do.
type configuration interface {
	Validate() error
}

// configFlag adds --config to the verb of a service.
func configFlag(c *cobra.Command, path *string) *cobra.Command {
	c.Flags().StringVar(path, "config", "", "configuration `file` (default $TREADLE_CONFIG, or none: defaults and environment)")
	return c
}

// loadConfig reads the configuration of a service and checks it. Bad
// configuration is bad input: nothing has been tried yet.
func loadConfig[C configuration](p *program, path string, c *C) error {
	if err := config.LoadEnv(p.configFile(path), p.lookup, c); err != nil {
		return usageErrorf("%w", err)
	}
	if err := (*c).Validate(); err != nil {
		return usageErrorf("the configuration is not valid:\n%w", err)
	}
	return nil
}

// sayEnding tells the user that the first signal was understood. The returned
// function ends the waiting for it.
func (p *program) sayEnding(ctx context.Context, limit time.Duration) func() bool {
	return context.AfterFunc(ctx, func() {
		p.say("treadle: ending, which may take up to %s; a second signal ends it at once", limit)
	})
}
