package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/grapher"
)

func (p *program) lintVerb() *cobra.Command {
	var f specsFlags
	c := &cobra.Command{
		Use:   "lint [DIR]",
		Short: "Check specs: every problem with file and line",
		Long: `Checks all specs below DIR (default specs.dir of the configuration, or ./specs), as a
Request Manager does when it starts. Exits 1 if there are errors; warnings do not
count. Job types are those that this program knows.`,
		Example: `  treadle lint
  treadle lint specs --output json
  treadle lint specs --warn unknown-field --warn parallel-sets`,
		Args: takes(0, 1, "at most one DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				f.dir = args[0]
			}
			specs, problems, err := p.loadSpecs(f)
			if err != nil {
				return err
			}
			return p.lint(specs, problems)
		},
	}
	f.register(c)
	return p.outputVerb(c)
}

func (p *program) lint(specs *grapher.Specs, problems grapher.Problems) error {
	if p.json() {
		if problems == nil {
			problems = grapher.Problems{}
		}
		if err := p.printJSON(problems); err != nil {
			return err
		}
	} else {
		if err := p.printProblems(problems); err != nil {
			return err
		}
		if err := p.printf("%s\n", lintSummary(specs, problems)); err != nil {
			return err
		}
	}
	if problems.HasErrors() {
		return silentExit(exitFailed)
	}
	return nil
}

func (p *program) printProblems(problems grapher.Problems) error {
	for _, x := range problems {
		if err := p.printf("%s\n", clean(x.String())); err != nil {
			return err
		}
	}
	return nil
}

func lintSummary(specs *grapher.Specs, problems grapher.Problems) string {
	var errs int
	for _, x := range problems {
		if x.Severity == grapher.SeverityError {
			errs++
		}
	}
	s := fmt.Sprintf("%s, %s", count(errs, "error"), count(len(problems)-errs, "warning"))
	if specs == nil {
		return s
	}
	has := fmt.Sprintf("%s, %s", count(len(specs.Sequences), "sequence"), count(len(specs.Requests()), "request"))
	if len(specs.Apps) > 0 {
		has += ", " + count(len(specs.Apps), "app")
	}
	return has + ": " + s
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
