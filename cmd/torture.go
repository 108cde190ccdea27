package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/request-manager/app"
	"github.com/treadle-run/treadle/request-manager/schedule/torture"
	"github.com/treadle-run/treadle/request-manager/store"
)

func (p *program) tortureVerb() *cobra.Command {
	c := &cobra.Command{
		Use:     "torture",
		Short:   "Test Treadle on your database, by killing what can be killed",
		Example: `  treadle torture schedule --config test.yaml --for 30m`,
		Args:    verb.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(p.tortureScheduleVerb(), p.tortureMemberVerb())
	return c
}

func (p *program) tortureScheduleVerb() *cobra.Command {
	o := torture.Defaults()
	var path string
	c := verb.ConfigFlag(&cobra.Command{
		Use:   "schedule",
		Short: "Run recurring jobs while what runs them is killed and frozen; exits 1 if anything is wrong",
		Long: `schedule runs recurring jobs on the database of the configuration, by members that are
processes of their own, and for as long as --for kills, freezes, adds and removes these.
Restart the database meanwhile, if you like. All the time, and at the end, it checks that
each success left what it should and each failure nothing, that nothing ran twice at once,
and that no run of any job is missing.

It refuses a database that has apps, or that a Request Manager uses: give it one of its
own. At the end it removes what it made. Ctrl-C ends it in good order. The same --seed
gives the same faults.`,
		Example: `  treadle torture schedule --config test.yaml --for 30m
  TREADLE_SQLITE_PATH=/tmp/t.db treadle torture schedule --members 1 --for 1m`,
		Args: verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.tortureSchedule(c.Context(), path, o, c.Flags().Changed("members"))
		},
	}, &path)
	c.Flags().DurationVar(&o.For, "for", o.For, "how long there are faults")
	c.Flags().IntVar(&o.Members, "members", o.Members, "processes that run jobs; 1 on SQLite")
	c.Flags().IntVar(&o.Jobs, "jobs", o.Jobs, "jobs, each with a period of 5 to 9 times the scale")
	c.Flags().DurationVar(&o.Scale, "scale", o.Scale, "unit of all times")
	c.Flags().Uint64Var(&o.Seed, "seed", o.Seed, "of the faults")
	c.Flags().BoolVar(&o.Keep, "keep", false, "leave the rows of the test in the database")
	c.Flags().BoolVar(&o.Clean, "clean", false, "first remove what a test has left that was killed")
	return verb.OutputFlag(c, p.out)
}

func (p *program) tortureSchedule(ctx context.Context, path string, o torture.Options, membersGiven bool) error {
	var err error
	if o.Store, err = p.tortureStore(path); err != nil {
		return err
	}
	if o.Store.SQLitePath != "" && !membersGiven {
		o.Members = 1
	}
	if err := o.Validate(); err != nil {
		return verb.Usagef("%w", err)
	}
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	o.Args = []string{"torture", "member"}
	if path != "" {
		o.Args = append(o.Args, "--config", path)
	}
	if !p.out.JSON() {
		o.Say = p.out.Say
	}
	r, err := torture.Run(ctx, o)
	if errors.Is(err, torture.ErrInUse) {
		return verb.Usagef("%w", err)
	}
	if errors.Is(err, store.ErrUnavailable) {
		return &verb.ExitError{Code: verb.ExitUnreachable, Err: err}
	}
	if err != nil {
		return err
	}
	code := verb.ExitOK
	if r.Interrupted {
		code = verb.ExitInterrupted
	}
	if len(r.Violations) > 0 {
		code = verb.ExitFailed
	}
	if p.out.JSON() {
		return errors.Join(p.out.PrintJSON(r), verb.Exit(code))
	}
	return errors.Join(p.out.Printf("%s", r), verb.Exit(code))
}

// tortureStore is the database of the configuration.
func (p *program) tortureStore(path string) (store.Config, error) {
	cfg := app.Default()
	validate := func(c app.Config) error { return errors.Join(c.ValidateDatabase(), c.Log.Validate()) }
	if err := verb.LoadConfig(p.env, path, &cfg, validate); err != nil {
		return store.Config{}, err
	}
	tls, err := cfg.MySQL.TLS.Client()
	if err != nil {
		return store.Config{}, fmt.Errorf("mysql.tls: %w", err)
	}
	return store.Config{
		MySQLDSN: string(cfg.MySQL.DSN), SQLitePath: cfg.SQLite.Path, TLS: tls,
		Tries: cfg.DB.Tries, RetryWait: cfg.DB.RetryWait, Logger: cfg.Log.Logger(p.out.Stderr),
	}, nil
}

// tortureMemberVerb is for torture schedule alone.
func (p *program) tortureMemberVerb() *cobra.Command {
	var o torture.MemberOptions
	var path string
	c := verb.ConfigFlag(&cobra.Command{
		Use:    "member",
		Short:  "Run a member of a torture test, which starts it",
		Hidden: true,
		Args:   verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if o.Store, err = p.tortureStore(path); err != nil {
				return err
			}
			o.Logger = o.Store.Logger
			return torture.RunMember(c.Context(), o)
		},
	}, &path)
	c.Flags().StringVar(&o.Run, "run", "", "id of the test")
	c.Flags().StringVar(&o.Process, "process", "", "name of this process")
	c.Flags().StringVar(&o.Dir, "dir", "", "directory of the test")
	c.Flags().DurationVar(&o.Scale, "scale", 0, "unit of all times")
	c.Flags().Uint64Var(&o.Seed, "seed", 0, "of what hooks do")
	return c
}
