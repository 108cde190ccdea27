package apps

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/app"
	"github.com/treadle-run/treadle/request-manager/client"
)

// scheduleNextFlags are the flags of the verb schedule next.
type scheduleNextFlags struct {
	n     uint
	from  string
	specs string
}

// SpecApp reads one app out of a directory of specs. If no app can be read there, it
// prints why.
type SpecApp func(out *term.Out, dir, name string) (proto.App, error)

func scheduleNextVerb(m *verb.Manager, out *term.Out, specApp SpecApp) *cobra.Command {
	var f scheduleNextFlags
	c := &cobra.Command{
		Use:   "next NAME",
		Short: "List the next times of an app, and explain unusual ones",
		Long: `Lists the next times of an app, and explains unusual ones, such as those at a change to
or from daylight saving time. With --specs, the app is read from a directory of specs,
and no Request Manager is asked.`,
		Example: `  treadle schedule next nightly
  treadle schedule next nightly --from 2027-03-01 -n 60
  treadle schedule next nightly -n 400 --specs specs`,
		Args: verb.Takes(1, 1, nameArg),
		RunE: func(c *cobra.Command, args []string) error {
			if f.n == 0 || f.n > maxNextTimes {
				return verb.Usagef("--number must be from 1 to %d", maxNextTimes)
			}
			from, err := verb.Time(out.Now(), "--from", f.from)
			if err != nil {
				return err
			}
			if f.specs != "" {
				a, err := specApp(out, f.specs, args[0])
				if err != nil {
					return err
				}
				return nextOfSpecs(out, a, from, int(f.n))
			}
			return m.Do(func(api *client.Client) error {
				times, err := api.NextTimes(c.Context(), args[0], from, f.n)
				if err != nil {
					return err
				}
				return out.Show(times, func() error { return showNextTimes(out, times) })
			})
		},
	}
	c.Flags().UintVarP(&f.n, "number", "n", 10, "list this `number` of times")
	c.Flags().StringVar(&f.from, "from", "", "the first `time` to look at (default now)")
	c.Flags().StringVar(&f.specs, "specs", "", "read the app from the specs in this `directory`")
	return m.Flags(c)
}

// maxNextTimes is how many times are computed for one call.
const maxNextTimes = 1000

// nextOfSpecs computes the next times of an app that no Request Manager knows.
func nextOfSpecs(out *term.Out, a proto.App, from time.Time, n int) error {
	after := out.Now()
	if !from.IsZero() {
		after = from.Add(-time.Nanosecond)
	}
	times, err := app.NextTimes(a, after, n)
	if err != nil {
		return err
	}
	return out.Show(times, func() error { return showNextTimes(out, times) })
}

func showNextTimes(out *term.Out, times []proto.NextTime) error {
	if len(times) == 0 {
		out.Say("this app never starts by itself")
		return nil
	}
	t := out.Table("INSTANCE", "DUE", "WHY")
	for _, x := range times {
		t.Row(x.Name, x.Due, x.Why)
	}
	return t.Flush()
}
