package cmd

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/config"
	"github.com/treadle-run/treadle/request-manager/app"
	"github.com/treadle-run/treadle/request-manager/store"
)

func (p *program) checkVerb() *cobra.Command {
	var path string
	var all bool
	since := 24 * time.Hour
	c := configFlag(&cobra.Command{
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
		Args: takes(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			if all {
				since = 0
			} else if since <= 0 {
				return usageErrorf("--since: must be more than 0; --all looks at all")
			}
			cfg := app.Default()
			if err := config.LoadEnv(p.configFile(path), p.lookup, &cfg); err != nil {
				return usageErrorf("%w", err)
			}
			if err := cfg.ValidateCheck(); err != nil {
				return usageErrorf("the configuration is not valid:\n%w", err)
			}
			res, err := app.Check(c.Context(), cfg, since, cfg.Log.Logger(p.stderr))
			if errors.Is(err, store.ErrUnavailable) {
				return &exitError{code: exitUnreachable, err: err}
			}
			if err != nil {
				return err
			}
			return p.checked(res)
		},
	}, &path)
	c.Flags().DurationVar(&since, "since", since, "how long ago the oldest finished request that is looked at ended")
	c.Flags().BoolVar(&all, "all", false, "look at all finished requests")
	return p.outputVerb(c)
}

// checked prints what was found; the exit code says whether it was something.
func (p *program) checked(res store.CheckResult) error {
	code := exitOK
	if len(res.Findings) > 0 {
		code = exitFailed
	}
	if p.json() {
		return errors.Join(p.printJSON(res), silentExit(code))
	}
	if code == exitOK {
		return p.printf("%d requests looked at: nothing is wrong\n", res.Requests)
	}
	t := newTable(p.stdout, "CHECK", "REQUEST", "WHAT")
	for _, f := range res.Findings {
		of := f.RequestID
		if f.App != "" {
			of = "app " + f.App
		}
		t.row(f.Check, of, f.Message)
	}
	if err := t.flush(); err != nil {
		return err
	}
	if len(res.Cut) > 0 {
		p.say("there is more than is shown of: %s", strings.Join(res.Cut, ", "))
	}
	p.say("%d requests looked at: %d findings", res.Requests, len(res.Findings))
	return silentExit(code)
}
