package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/test/torture/requests"
)

func (p *program) requestsVerb() *cobra.Command {
	o := requests.Defaults()
	var plan bool
	c := &cobra.Command{
		Use:   "requests",
		Short: "Run a whole Treadle under load while its processes, its database and its network fail",
		Long: `requests starts a database, Request Managers and Job Runners on this machine, asks for
requests, and for as long as --for kills, freezes and cuts off all of these. Then it heals
everything, waits for all requests to end, and checks that none is lost, that no job that
completed ran again, and that nothing ran twice at a time.`,
		Example: `  treadle-torture requests                      10 minutes on a private MariaDB
  treadle-torture requests --for 1m --db sqlite  with one Request Manager, on SQLite
  treadle-torture requests --db galera           on a cluster of three nodes
  treadle-torture requests --seed 7 --plan       only print the faults of a seed`,
		Args: verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return verb.Usagef("%w", err)
			}
			if plan {
				return p.printPlan(requests.Plan(o))
			}
			return p.requests(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.DB, "db", o.DB, "mariadb, sqlite, or galera: a cluster of three nodes")
	c.Flags().DurationVar(&o.For, "for", o.For, "how long there are faults")
	c.Flags().Uint64Var(&o.Seed, "seed", o.Seed, "of the faults")
	c.Flags().IntVar(&o.RMs, "rms", o.RMs, "Request Managers; on SQLite there is one")
	c.Flags().IntVar(&o.JRs, "jrs", o.JRs, "Job Runners")
	c.Flags().Float64Var(&o.Rate, "rate", o.Rate, "requests per second")
	c.Flags().DurationVar(&o.Gap, "gap", o.Gap, "limit from one fault to the next; long ones let one be over before the next")
	c.Flags().DurationVar(&o.Settle, "settle", o.Settle, "how long requests may take to end afterwards")
	c.Flags().StringVar(&o.Program, "bin", "", "treadle `program` (default the one beside this program, or in $PATH)")
	c.Flags().StringVar(&o.Dir, "dir", "", "where logs and reports go (default a temporary directory, kept if something is wrong)")
	c.Flags().BoolVar(&o.Keep, "keep", false, "keep the directory also if all is well")
	c.Flags().BoolVar(&plan, "plan", false, "print the faults and do nothing")
	return verb.OutputFlag(c, p.out)
}

func (p *program) requests(ctx context.Context, o requests.Options) (err error) {
	if o.Program == "" {
		if o.Program, err = findTreadle(); err != nil {
			return verb.Usagef("%w", err)
		}
	}
	o.Say = p.say()
	r, err := requests.Run(ctx, o)
	if err != nil {
		return err
	}
	if o.Keep {
		p.out.Say("everything is kept in %s", r.Dir)
	}
	return p.report(&r.Report, r)
}

// findTreadle returns the program beside this one, or else that of the path.
func findTreadle() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(self), "treadle")
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	found, err := exec.LookPath("treadle")
	if err != nil {
		return "", fmt.Errorf("there is no treadle in %s or in $PATH; name one with --bin", filepath.Dir(self))
	}
	return found, nil
}
