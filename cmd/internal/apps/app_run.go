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

const appRunLong = `Runs periods of an app: one, or all that start at or after --from and before --to. That
includes periods that failed, were skipped, or are older than the app. Periods that have
SUCCEEDED run only with --again. Each run is an instance of its own; once it has SUCCEEDED,
the dependent periods that wait for it continue.

A period is given as the name of its instance, as a time in it, such as
2011-01-02T13:00:00Z or 2011-01-02 (in the local time zone), or as an age such as 2h.

The exit code is 1 if no period runs; the last column says why.`

func appRunVerb(m *verb.Manager) *cobra.Command {
	var r proto.RunPeriods
	c := m.Verb(&cobra.Command{
		Use:   "run NAME",
		Short: "Run periods of an app, again or for the first time",
		Long:  appRunLong,
		Example: `  treadle app run counter --period 2011-01-02-1300-counter
  treadle app run counter --from 2011-01-01 --to 2011-02-01 --again`,
		Args: verb.Takes(1, 1, nameArg),
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
	c.Flags().StringVar(&r.Period, "period", "", "the one `period` to run")
	c.Flags().StringVar(&r.From, "from", "", "run the periods from this `period` on")
	c.Flags().StringVar(&r.To, "to", "", "run the periods before this `period`")
	c.Flags().BoolVar(&r.Again, "again", false, "also run periods that have SUCCEEDED")
	c.Flags().BoolVar(&r.Force, "force", false, "do not wait for upstream apps")
	return c
}

// runPeriods checks the flags, and converts times to those of the API.
func runPeriods(now time.Time, r proto.RunPeriods) (proto.RunPeriods, error) {
	switch {
	case r.Period != "" && (r.From != "" || r.To != ""):
		return r, verb.Usagef("--period cannot be combined with --from and --to")
	case r.Period == "" && (r.From == "" || r.To == ""):
		return r, verb.Usagef("no periods given: use --period, or --from and --to")
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
		out.Say("no period of the app starts in that range")
		return nil
	}
	t := out.Table("PERIOD", "START", "RUNS", "WHY NOT")
	for _, r := range a.Periods {
		runs := "no"
		if r.Made {
			runs = "yes"
		}
		t.Row(r.Name, r.Start, runs, r.Why)
	}
	return t.Flush()
}
