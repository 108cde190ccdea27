package cmd

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/config"
	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/request-manager/app"
)

// specsFlags say which specs a verb reads, and how strictly.
type specsFlags struct {
	config string
	dir    string
	warn   []string
}

func (f *specsFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.config, "config", "", "configuration `file` of the Request Manager, for specs.dir, specs.warn and limits")
	c.Flags().StringArrayVar(&f.warn, "warn", nil, "a `check` that only warns: unknown-field or parallel-sets; may be repeated")
}

// loadSpecs reads the specs as a Request Manager with the same configuration would.
// The job types are those of this program.
func (p *program) loadSpecs(f specsFlags) (*grapher.Specs, grapher.Problems, error) {
	cfg := app.Default()
	if err := config.LoadEnv(p.configFile(f.config), p.lookup, &cfg); err != nil {
		return nil, nil, usageErrorf("%w", err)
	}
	if f.dir == "" {
		f.dir = cfg.Specs.Dir
	}
	specs, problems, err := grapher.Load(f.dir, grapher.Options{
		Registry: p.registry,
		Warn:     append(cfg.Specs.Warn, f.warn...),
		Limits:   grapher.Limits{Jobs: cfg.Limits.Jobs, Depth: cfg.Limits.Depth},
	})
	if err != nil {
		return nil, nil, &exitError{code: exitUsage, err: err}
	}
	return specs, problems, nil
}

// configFile is the configuration file of a service: the flag, else
// $TREADLE_CONFIG, else none.
func (p *program) configFile(flag string) string {
	if flag != "" {
		return flag
	}
	return p.env("TREADLE_CONFIG")
}

// errSpecs is said after problems have been printed.
var errSpecs = errors.New("the specs have errors")
