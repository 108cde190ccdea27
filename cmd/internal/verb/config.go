package verb

import (
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/config"
)

// Environment looks up environment variables.
type Environment func(name string) (string, bool)

// Get returns the value of a variable, "" if it is not set.
func (e Environment) Get(name string) string {
	if v, ok := e(name); ok {
		return v
	}
	return ""
}

// ConfigFlag adds --config to a verb that uses the configuration of a service.
func ConfigFlag(c *cobra.Command, path *string) *cobra.Command {
	c.Flags().StringVar(path, "config", "", "configuration `file` (default $TREADLE_CONFIG; without one, defaults and environment variables)")
	return c
}

// LoadConfig reads the configuration of a service into c, and checks it with validate
// unless that is nil. path is the value of --config, "" for $TREADLE_CONFIG. An error is
// one of bad input.
func LoadConfig[C any](env Environment, path string, c *C, validate func(C) error) error {
	if path == "" {
		path = env.Get("TREADLE_CONFIG")
	}
	if err := config.LoadEnv(path, env, c); err != nil {
		return Usagef("%w", err)
	}
	if validate == nil {
		return nil
	}
	if err := validate(*c); err != nil {
		return Usagef("the configuration is not valid:\n%w", err)
	}
	return nil
}
