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

// CheckVerb holds the database against what must always be so.
func CheckVerb(env verb.Environment, out *term.Out) *cobra.Command {
	var path string
	var all bool
	since := 24 * time.Hour
	c := verb.ConfigFlag(&cobra.Command{
		Use:   "check",
		Short: "Look for what must never be so in the database; exits 1 if there is something",
		Long: `check holds the database against what must always be so: nothing is RUNNING without a
runner, no job ran again after it completed, what has ended says when, and so on. It looks
at all requests that have not ended and at those that ended lately.

It only reads, in small steps by index, and can run beside everything else. It exits 1 if
it finds something, and 3 if the database cannot be reached. Right after an outage, wait
until the Request Managers have had twice their lease to see to it.`,
		Example: `  treadle check --config request-manager.yaml
  treadle check --config request-manager.yaml --all --output json`,
		Args: verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if all {
				since = 0
			} else if since <= 0 {
				return verb.Usagef("--since: must be more than 0; --all looks at all")
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
	c.Flags().DurationVar(&since, "since", since, "how long ago the oldest finished request that is looked at ended")
	c.Flags().BoolVar(&all, "all", false, "look at all finished requests")
	return verb.OutputFlag(c, out)
}

// checked prints what was found; the exit code says whether it was something.
func checked(out *term.Out, res store.CheckResult) error {
	code := verb.ExitOK
	if len(res.Findings) > 0 {
		code = verb.ExitFailed
	}
	if out.JSON() {
		return errors.Join(out.PrintJSON(res), verb.Exit(code))
	}
	if code == verb.ExitOK {
		return out.Printf("%d requests looked at: nothing is wrong\n", res.Requests)
	}
	t := out.Table("CHECK", "REQUEST", "WHAT")
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
		out.Say("there is more than is shown of: %s", strings.Join(res.Cut, ", "))
	}
	out.Say("%d requests looked at: %d findings", res.Requests, len(res.Findings))
	return verb.Exit(code)
}
