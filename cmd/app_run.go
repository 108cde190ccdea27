package cmd

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

const appRunLong = `Runs periods of an app: one, or all that start from --from on and before --to. Periods
that failed, were skipped, or lie before the app was made run; those that have
SUCCEEDED only with --again. Each is an instance of its own, and what depends on it goes
on when it has SUCCEEDED.

A period is written as its instance is called, or as a time that lies in it: such as
2011-01-02T13:00:00Z, 2011-01-02 in the zone of this machine, or an age such as 2h. The exit
code is 1 if none runs; the last column says why.`

func (p *program) appRunVerb() *cobra.Command {
	var r proto.RunPeriods
	c := &cobra.Command{
		Use:   "run NAME",
		Short: "Run periods of an app, again or for the first time",
		Long:  appRunLong,
		Example: `  treadle app run counter --period 2011-01-02-1300-counter
  treadle app run counter --from 2011-01-01 --to 2011-02-01 --again`,
		Args: takes(1, 1, "the NAME of the app"),
		RunE: func(c *cobra.Command, args []string) error {
			ask, err := p.runPeriods(r)
			if err != nil {
				return err
			}
			api, err := p.client()
			if err != nil {
				return err
			}
			answer, err := api.RunPeriods(c.Context(), args[0], ask)
			if err != nil {
				return err
			}
			made := slices.ContainsFunc(answer.Periods, func(r proto.RunPeriod) bool { return r.Made })
			if p.json() {
				err = p.printJSON(answer)
			} else {
				err = p.ran(answer)
			}
			if err == nil && !made {
				return silentExit(exitFailed)
			}
			return err
		},
	}
	c.Flags().StringVar(&r.Period, "period", "", "the one period to run")
	c.Flags().StringVar(&r.From, "from", "", "the first period to run")
	c.Flags().StringVar(&r.To, "to", "", "periods that start before this one or this time")
	c.Flags().BoolVar(&r.Again, "again", false, "also periods that have SUCCEEDED")
	c.Flags().BoolVar(&r.Force, "force", false, "do not wait for the apps that it depends on")
	return p.clientVerb(c)
}

// runPeriods checks the flags, and writes times as the API reads them.
func (p *program) runPeriods(r proto.RunPeriods) (proto.RunPeriods, error) {
	switch {
	case r.Period != "" && (r.From != "" || r.To != ""):
		return r, usageErrorf("--period stands alone, without --from and --to")
	case r.Period == "" && (r.From == "" || r.To == ""):
		return r, usageErrorf("which periods? give --period, or --from and --to")
	}
	for _, s := range []*string{&r.Period, &r.From, &r.To} {
		if t, err := p.timeFlag("", *s); err == nil && *s != "" {
			*s = t.Format(time.RFC3339Nano)
		} // else it is the name of an instance: the Request Manager knows those
	}
	return r, nil
}

func (p *program) ran(a proto.RunPeriodsAnswer) error {
	if len(a.Periods) == 0 {
		p.say("no period of the app starts there")
		return nil
	}
	t := newTable(p.stdout, "PERIOD", "START", "RUNS", "WHY NOT")
	for _, r := range a.Periods {
		runs := "no"
		if r.Made {
			runs = "yes"
		}
		t.row(r.Name, p.when(r.Start), runs, r.Why)
	}
	return t.flush()
}
