package tools

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/app"
)

// Specs reads specs as a Request Manager with the same configuration does.
type Specs struct {
	Env verb.Environment
	// Registry has the job types: those of this program.
	Registry *job.Registry
}

// specsFlags are the flags of the verbs that read specs.
type specsFlags struct {
	config string
	dir    string
	warn   []string
}

func (f *specsFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.config, "config", "", "configuration `file` of the Request Manager, for specs.dir, specs.warn and limits")
	c.Flags().StringArrayVar(&f.warn, "warn", nil, "report this `check` as a warning: duplicate-key, parallel-sets, unknown-arg or unknown-field; may be repeated")
}

func (s Specs) load(f specsFlags) (*grapher.Specs, problem.List, error) {
	cfg := app.Default()
	if err := verb.LoadConfig(s.Env, f.config, &cfg, nil); err != nil {
		return nil, nil, err
	}
	if f.dir == "" {
		f.dir = cfg.Specs.Dir
	}
	specs, problems, err := grapher.Load(f.dir, grapher.Options{
		Registry: s.Registry,
		Warn:     append(cfg.Specs.Warn, f.warn...),
		Limits:   grapher.Limits{Jobs: cfg.Limits.Jobs, Depth: cfg.Limits.Depth},
	})
	if err != nil {
		return nil, nil, verb.Usagef("%w", err)
	}
	return specs, problems, nil
}

// errSpecs is the error after the problems of the specs have been printed.
var errSpecs = errors.New("the specs have errors")

// App reads one app out of a directory of specs. If no app can be read there, it
// prints why.
func (s Specs) App(out *term.Out, dir, name string) (proto.App, error) {
	specs, problems, err := s.load(specsFlags{dir: dir})
	if err != nil {
		return proto.App{}, err
	}
	if specs == nil {
		if err := printProblems(out, problems); err != nil {
			return proto.App{}, err
		}
		return proto.App{}, errSpecs
	}
	names := make([]string, len(specs.Apps))
	for i, a := range specs.Apps {
		if a.Name == name {
			return a.App, nil
		}
		names[i] = a.Name
	}
	if near := verb.Nearest(name, names); near != "" {
		return proto.App{}, verb.Usagef("unknown app %q in %s, did you mean %s?", name, dir, near)
	}
	return proto.App{}, verb.Usagef("unknown app %q in %s", name, dir)
}
