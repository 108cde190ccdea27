package verb

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/config"
	jr "github.com/treadle-run/treadle/job-runner/app"
	rm "github.com/treadle-run/treadle/request-manager/app"
)

// Environment has environment variables by name.
type Environment map[string]string

// SystemEnvironment returns the environment of this process.
func SystemEnvironment() Environment {
	env := Environment{}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

// Get returns the value of a variable, "" if it is not set.
func (e Environment) Get(name string) string { return e[name] }

func (e Environment) lookup(name string) (string, bool) {
	v, ok := e[name]
	return v, ok
}

// otherVariables are known though they are none of a key: those of client verbs, and
// those that jobs get.
var otherVariables = []string{
	"TREADLE_CONFIG", "TREADLE_ADDR", "TREADLE_USER", "TREADLE_CLIENT_CERT_FILE", "TREADLE_CLIENT_KEY_FILE", "TREADLE_CLIENT_CA_FILE",
	"TREADLE_REQUEST_ID", "TREADLE_JOB_ID", "TREADLE_TRY", "TREADLE_EPOCH", "TREADLE_OUTPUT", "TREADLE_DATA",
}

// testVariables starts the names of variables of Treadle's own tests.
const testVariables = "TREADLE_TEST_"

// checkNames returns an error if a variable is misspelt. A variable of either service
// is right for both: they may share an environment.
func (e Environment) checkNames() error {
	known := slices.Clone(otherVariables)
	rmConfig, jrConfig := rm.Default(), jr.Default()
	for _, k := range append(config.Keys(&rmConfig), config.Keys(&jrConfig)...) {
		known = append(known, k.Env)
	}
	env := maps.Clone(e)
	maps.DeleteFunc(env, func(name, _ string) bool { return strings.HasPrefix(name, testVariables) })
	return config.UnknownVariables(env, known)
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
	if err := errors.Join(config.LoadEnv(path, env.lookup, c), env.checkNames()); err != nil {
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
