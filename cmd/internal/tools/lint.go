package tools

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/problem"
)

// LintVerb checks specs.
func LintVerb(specs Specs, out *term.Out) *cobra.Command {
	var f specsFlags
	c := &cobra.Command{
		Use:   "lint [DIR]",
		Short: "Check specs; every problem is reported with file and line",
		Long: `Checks all specs below DIR (default specs.dir of the configuration, or ./specs), as a
Request Manager does when it starts. The job types are those of this program. The exit
code is 1 if there are errors; warnings do not count.`,
		Example: `  treadle lint
  treadle lint specs --output json
  treadle lint specs --warn unknown-field --warn parallel-sets`,
		Args: verb.Takes(0, 1, "at most one DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				f.dir = args[0]
			}
			loaded, problems, err := specs.load(f)
			if err != nil {
				return err
			}
			return lint(out, loaded, problems)
		},
	}
	f.register(c)
	return verb.OutputFlag(c, out)
}

func lint(out *term.Out, specs *grapher.Specs, problems problem.List) error {
	if out.JSON() {
		if problems == nil {
			problems = problem.List{}
		}
		if err := out.PrintJSON(problems); err != nil {
			return err
		}
	} else {
		if err := printProblems(out, problems); err != nil {
			return err
		}
		if err := out.Printf("%s\n", lintSummary(specs, problems)); err != nil {
			return err
		}
	}
	if problems.HasErrors() {
		return verb.Exit(verb.ExitFailed)
	}
	return nil
}

func printProblems(out *term.Out, problems problem.List) error {
	for _, x := range problems {
		if err := out.Printf("%s\n", term.Clean(x.String())); err != nil {
			return err
		}
	}
	return nil
}

func lintSummary(specs *grapher.Specs, problems problem.List) string {
	var errs int
	for _, x := range problems {
		if x.Severity == problem.Error {
			errs++
		}
	}
	s := fmt.Sprintf("%s, %s", term.Count(errs, "error"), term.Count(len(problems)-errs, "warning"))
	if specs == nil {
		return s
	}
	has := fmt.Sprintf("%s, %s", term.Count(len(specs.Sequences), "sequence"), term.Count(len(specs.Requests()), "request"))
	if len(specs.Apps) > 0 {
		has += ", " + term.Count(len(specs.Apps), "app")
	}
	return has + ": " + s
}
