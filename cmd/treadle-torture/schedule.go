package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/request-manager/app"
	"github.com/treadle-run/treadle/test/torture"
	"github.com/treadle-run/treadle/test/torture/schedule"
)

func (p *program) scheduleVerb() *cobra.Command {
	o := schedule.Defaults()
	var path string
	var plan bool
	c := verb.ConfigFlag(&cobra.Command{
		Use:   "schedule",
		Short: "Run recurring jobs while what runs them is killed and frozen",
		Long: `schedule runs recurring jobs on the database of the configuration, by members that are
processes of their own, and for as long as --for kills, freezes, adds and removes these.
Restart the database meanwhile, if you like; one that --db starts is killed and frozen, too.
All the time, and at the end, it checks that each success left what it should and each
failure nothing, that nothing ran twice at once, and that no run of any job is missing.

It refuses a database that has apps, or that a Request Manager uses: give it one of its
own. At the end it removes what it made.`,
		Example: `  treadle-torture schedule --config test.yaml --for 30m
  TREADLE_SQLITE_PATH=/tmp/t.db treadle-torture schedule --for 1m
  treadle-torture schedule --db mariadb --for 30m   on a private MariaDB
  treadle-torture schedule --seed 7 --plan          only print the faults of a seed`,
		Args: verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.DB == torture.OnSQLite && !c.Flags().Changed("members") {
				o.Members = 1
			}
			if plan {
				if err := o.Validate(); err != nil {
					return verb.Usagef("%w", err)
				}
				return p.printPlan(schedule.Plan(o))
			}
			return p.schedule(c.Context(), path, o, c.Flags().Changed("members"))
		},
	}, &path)
	c.Flags().StringVar(&o.DB, "db", "", "start a database of its own: mariadb, sqlite, or galera, a cluster of three nodes (default the one of the configuration)")
	c.Flags().DurationVar(&o.For, "for", o.For, "how long there are faults")
	c.Flags().IntVar(&o.Members, "members", o.Members, "processes that run jobs; 1 on SQLite")
	c.Flags().IntVar(&o.Jobs, "jobs", o.Jobs, "jobs, each with a period of 5 to 9 times the scale")
	c.Flags().DurationVar(&o.Scale, "scale", o.Scale, "unit of all times")
	c.Flags().Uint64Var(&o.Seed, "seed", o.Seed, "of the faults")
	c.Flags().IntVar(&o.Slack, "slack", o.Slack, "how many times longer to wait for what must come, on a slow machine")
	c.Flags().StringVar(&o.Dir, "dir", "", "where logs and traces go (default a temporary directory, kept if something is wrong)")
	c.Flags().BoolVar(&o.Keep, "keep", false, "leave the rows of the test in the database")
	c.Flags().BoolVar(&o.Clean, "clean", false, "first remove what a test has left that was killed")
	c.Flags().BoolVar(&plan, "plan", false, "print the faults and do nothing")
	c.AddCommand(p.memberVerb())
	return verb.OutputFlag(c, p.out)
}

func (p *program) schedule(ctx context.Context, path string, o schedule.Options, membersGiven bool) error {
	var err error
	o.Args = []string{"schedule", "member"}
	if o.DB == "" {
		if o.Store, err = p.store(path); err != nil {
			return err
		}
		if o.Store.SQLitePath != "" && !membersGiven {
			o.Members = 1
		}
		if path != "" {
			o.Args = append(o.Args, "--config", path)
		}
	}
	if err := o.Validate(); err != nil {
		return verb.Usagef("%w", err)
	}
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	o.Say = p.say()
	r, err := schedule.Run(ctx, o)
	switch {
	case errors.Is(err, schedule.ErrInUse):
		return verb.Usagef("%w", err)
	case errors.Is(err, database.ErrUnavailable):
		return &verb.ExitError{Code: verb.ExitUnreachable, Err: err}
	case err != nil:
		return err
	}
	return p.report(&r.Report, r)
}

// store is the database of the configuration.
func (p *program) store(path string) (database.Config, error) {
	cfg := app.Default()
	validate := func(c app.Config) error { return errors.Join(c.ValidateDatabase(), c.Log.Validate()) }
	if err := verb.LoadConfig(p.env, path, &cfg, validate); err != nil {
		return database.Config{}, err
	}
	tls, err := cfg.MySQL.TLS.Client()
	if err != nil {
		return database.Config{}, fmt.Errorf("mysql.tls: %w", err)
	}
	return database.Config{
		MySQLDSN: string(cfg.MySQL.DSN), SQLitePath: cfg.SQLite.Path, TLS: tls,
		Tries: cfg.DB.Tries, RetryWait: cfg.DB.RetryWait, Logger: cfg.Log.Logger(p.out.Stderr),
	}, nil
}

// memberVerb is for the schedule verb alone.
func (p *program) memberVerb() *cobra.Command {
	var o schedule.MemberOptions
	var path string
	c := verb.ConfigFlag(&cobra.Command{
		Use:    "member",
		Short:  "Run a member of a test, which starts it",
		Hidden: true,
		Args:   verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if o.Store, err = p.store(path); err != nil {
				return err
			}
			o.Logger = o.Store.Logger
			return schedule.RunMember(c.Context(), o)
		},
	}, &path)
	c.Flags().StringVar(&o.Run, "run", "", "id of the test")
	c.Flags().StringVar(&o.Process, "process", "", "name of this process")
	c.Flags().StringVar(&o.Dir, "dir", "", "directory of the test")
	c.Flags().DurationVar(&o.Scale, "scale", 0, "unit of all times")
	c.Flags().Uint64Var(&o.Seed, "seed", 0, "of what hooks do")
	return c
}
