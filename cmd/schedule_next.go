package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/app"
)

// scheduleNextFlags are the flags of the verb schedule next.
type scheduleNextFlags struct {
	n     uint
	from  string
	specs string
}

func (p *program) scheduleNextVerb() *cobra.Command {
	var f scheduleNextFlags
	c := &cobra.Command{
		Use:   "next NAME",
		Short: "List the next times of an app, and what is unusual about them",
		Long: `Lists the next times of an app, with the reason for each unusual one, such as a clock
that is put forward or back. With --specs the app is read from a directory of specs,
and no Request Manager is asked.`,
		Example: `  treadle schedule next nightly
  treadle schedule next nightly --from 2027-03-01 -n 60
  treadle schedule next nightly -n 400 --specs specs`,
		Args: takes(1, 1, "the NAME of the app; treadle apps lists them"),
		RunE: func(c *cobra.Command, args []string) error {
			times, err := p.nextTimes(c, args[0], f)
			if err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(times)
			}
			return p.showNextTimes(times)
		},
	}
	c.Flags().UintVarP(&f.n, "number", "n", 10, "how many times")
	c.Flags().StringVar(&f.from, "from", "", "from this time on; from now on, if it is not given")
	c.Flags().StringVar(&f.specs, "specs", "", "`directory` with specs to read the app from")
	return p.clientVerb(c)
}

// maxNextTimes is how many times are computed for one call.
const maxNextTimes = 1000

func (p *program) nextTimes(c *cobra.Command, name string, f scheduleNextFlags) ([]proto.NextTime, error) {
	if f.n == 0 || f.n > maxNextTimes {
		return nil, usageErrorf("--number must be from 1 to %d", maxNextTimes)
	}
	from, err := p.timeFlag("--from", f.from)
	if err != nil {
		return nil, err
	}
	if f.specs != "" {
		a, err := p.appOfSpecs(name, f.specs)
		if err != nil {
			return nil, err
		}
		after := p.now()
		if !from.IsZero() {
			after = from.Add(-time.Nanosecond)
		}
		return app.NextTimes(a, after, int(f.n))
	}
	api, err := p.client()
	if err != nil {
		return nil, err
	}
	return api.NextTimes(c.Context(), name, from, f.n)
}

// appOfSpecs reads one app out of a directory of specs.
func (p *program) appOfSpecs(name, dir string) (proto.App, error) {
	specs, problems, err := p.loadSpecs(specsFlags{dir: dir})
	if err != nil {
		return proto.App{}, err
	}
	if specs == nil {
		if err := p.printProblems(problems); err != nil {
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
	if near := nearest(name, names); near != "" {
		return proto.App{}, usageErrorf("there is no app %q in %s, did you mean %s?", name, dir, near)
	}
	return proto.App{}, usageErrorf("there is no app %q in %s", name, dir)
}

func (p *program) showNextTimes(times []proto.NextTime) error {
	if len(times) == 0 {
		p.say("it never starts by itself")
		return nil
	}
	t := newTable(p.stdout, "INSTANCE", "DUE", "WHY")
	for _, x := range times {
		t.row(x.Name, p.when(x.Due), x.Why)
	}
	return t.flush()
}
