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
	c.Flags().StringVar(path, "config", "", "configuration `file` (default $TREADLE_CONFIG, or none: defaults and environment)")
	return c
}

// LoadConfig reads the configuration of a service, and checks it with validate
// unless that is nil. path is the value of --config; without one $TREADLE_CONFIG
// counts. Bad configuration is bad input: nothing has been tried yet.
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
