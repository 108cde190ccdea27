package tools

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/request-manager/app"
	"github.com/treadle-run/treadle/request-manager/store"
)

// CheckVerb checks that the database is consistent.
func CheckVerb(env verb.Environment, out *term.Out) *cobra.Command {
	var path string
	var all bool
	since := 24 * time.Hour
	c := verb.ConfigFlag(&cobra.Command{
		Use:   "check",
		Short: "Check that the database is consistent; exits 1 if it is not",
		Long: `Checks that the database is consistent: no request is RUNNING without a runner, no job
ran again after it completed, each finished request has a finish time, and so on. It
checks all unfinished requests, and those that finished recently.

It only reads, in small steps by index, and can run at any time. The exit code is 1 if
there are findings, and 3 if the database is unavailable. After an outage, wait for twice
the lease, so that the Request Managers have recovered what was running.`,
		Example: `  treadle check --config request-manager.yaml
  treadle check --config request-manager.yaml --all --output json`,
		Args: verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if all {
				since = 0
			} else if since <= 0 {
				return verb.Usagef("--since must be more than 0; use --all to check all requests")
			}
			cfg := app.Default()
			if err := verb.LoadConfig(env, path, &cfg, app.Config.ValidateCheck); err != nil {
				return err
			}
			res, err := app.Check(c.Context(), cfg, since, cfg.Log.Logger(out.Stderr))
			if errors.Is(err, store.ErrUnavailable) {
				return &verb.ExitError{Code: verb.ExitUnreachable, Err: err}
			}
			if err != nil {
				return err
			}
			return checked(out, res)
		},
	}, &path)
	c.Flags().DurationVar(&since, "since", since, "check requests that finished within this `time`")
	c.Flags().BoolVar(&all, "all", false, "check all finished requests")
	return verb.OutputFlag(c, out)
}

// checked prints the findings; the exit code says whether there are any.
func checked(out *term.Out, res store.CheckResult) error {
	code := verb.ExitOK
	if len(res.Findings) > 0 {
		code = verb.ExitFailed
	}
	if out.JSON() {
		return errors.Join(out.PrintJSON(res), verb.Exit(code))
	}
	if code == verb.ExitOK {
		return out.Printf("%d requests checked: no findings\n", res.Requests)
	}
	t := out.Table("CHECK", "REQUEST", "FINDING")
	for _, f := range res.Findings {
		of := f.RequestID
		if f.App != "" {
			of = "app " + f.App
		}
		t.Row(f.Check, of, f.Message)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(res.Cut) > 0 {
		out.Say("there are more findings than shown of: %s", strings.Join(res.Cut, ", "))
	}
	out.Say("%d requests checked: %d findings", res.Requests, len(res.Findings))
	return verb.Exit(code)
}
