package apps

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

const appRunLong = `Runs periods of an app: one, or all that start from --from on and before --to. Periods
that failed, were skipped, or lie before the app was made run; those that have
SUCCEEDED only with --again. Each is an instance of its own, and what depends on it goes
on when it has SUCCEEDED.

A period is written as its instance is called, or as a time that lies in it: such as
2011-01-02T13:00:00Z, 2011-01-02 in the zone of this machine, or an age such as 2h. The exit
code is 1 if none runs; the last column says why.`

func appRunVerb(m *verb.Manager) *cobra.Command {
	var r proto.RunPeriods
	c := m.Verb(&cobra.Command{
		Use:   "run NAME",
		Short: "Run periods of an app, again or for the first time",
		Long:  appRunLong,
		Example: `  treadle app run counter --period 2011-01-02-1300-counter
  treadle app run counter --from 2011-01-01 --to 2011-02-01 --again`,
		Args: verb.Takes(1, 1, "the NAME of the app"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		ask, err := runPeriods(out.Now(), r)
		if err != nil {
			return err
		}
		answer, err := api.RunPeriods(ctx, args[0], ask)
		if err != nil {
			return err
		}
		made := slices.ContainsFunc(answer.Periods, func(r proto.RunPeriod) bool { return r.Made })
		err = out.Show(answer, func() error { return ran(out, answer) })
		if err == nil && !made {
			return verb.Exit(verb.ExitFailed)
		}
		return err
	})
	c.Flags().StringVar(&r.Period, "period", "", "the one period to run")
	c.Flags().StringVar(&r.From, "from", "", "the first period to run")
	c.Flags().StringVar(&r.To, "to", "", "periods that start before this one or this time")
	c.Flags().BoolVar(&r.Again, "again", false, "also periods that have SUCCEEDED")
	c.Flags().BoolVar(&r.Force, "force", false, "do not wait for the apps that it depends on")
	return c
}

// runPeriods checks the flags, and writes times as the API reads them.
func runPeriods(now time.Time, r proto.RunPeriods) (proto.RunPeriods, error) {
	switch {
	case r.Period != "" && (r.From != "" || r.To != ""):
		return r, verb.Usagef("--period stands alone, without --from and --to")
	case r.Period == "" && (r.From == "" || r.To == ""):
		return r, verb.Usagef("which periods? give --period, or --from and --to")
	}
	for _, s := range []*string{&r.Period, &r.From, &r.To} {
		if t, err := verb.Time(now, "", *s); err == nil && *s != "" {
			*s = t.Format(time.RFC3339Nano)
		} // else it is the name of an instance: the Request Manager knows those
	}
	return r, nil
}

func ran(out *term.Out, a proto.RunPeriodsAnswer) error {
	if len(a.Periods) == 0 {
		out.Say("no period of the app starts there")
		return nil
	}
	t := out.Table("PERIOD", "START", "RUNS", "WHY NOT")
	for _, r := range a.Periods {
		runs := "no"
		if r.Made {
			runs = "yes"
		}
		t.Row(r.Name, out.When(r.Start), runs, r.Why)
	}
	return t.Flush()
}
