// Command treadle-torture tests Treadle by killing what can be killed: whole Treadles
// under load, or recurring work on a database of the user's.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/cmd/internal/version"
	"github.com/treadle-run/treadle/test/torture"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// This goroutine lives as long as the process.
	go func() {
		<-signals
		cancel() // the test ends early and in good order
		<-signals
		os.Exit(verb.ExitInterrupted)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr, verb.SystemEnvironment()))
}

// run is main for tests: it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, env verb.Environment) int {
	p := &program{out: &term.Out{Stdout: stdout, Stderr: stderr, Now: time.Now}, env: env}
	root := p.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return verb.ExitOK
	}
	exit, ok := errors.AsType[*verb.ExitError](err)
	if !ok && !p.started { // an error of cobra's
		exit, ok = &verb.ExitError{Code: verb.ExitUsage, Err: fmt.Errorf("%w; see treadle-torture help", err)}, true
	}
	if ok && exit.Err == nil {
		return exit.Code
	}
	if ok {
		err = exit
	}
	p.out.Say("treadle-torture: %v", err)
	return verb.ExitCode(err)
}

// program is what its verbs are made of.
type program struct {
	out *term.Out
	env verb.Environment
	// started says that the command line was understood, so that a verb runs.
	started bool
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:     "treadle-torture",
		Short:   "Tests Treadle by killing, freezing and cutting off what it consists of",
		Version: version.Get().String(),
		Long: `treadle-torture tests Treadle by killing, freezing and cutting off what it consists of.
It prints what was done and what was found. The same --seed gives the same faults at the
same times. Ctrl-C ends it and cleans up, a second one ends it at once.

Exit codes:
  0    nothing was found
  1    something that may never be was found; logs and traces are kept
  2    bad input, or a database that is in use
  3    the database cannot be reached
  130  ended by Ctrl-C`,
		Example: `  treadle-torture requests --for 10m
  treadle-torture schedule --config test.yaml --for 30m`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(*cobra.Command, []string) {
			p.started = true
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(p.requestsVerb(), p.scheduleVerb())
	return root
}

// say prints progress, unless the result alone is wanted.
func (p *program) say() torture.Say {
	if p.out.JSON() {
		return nil
	}
	return p.out.Say
}

// printPlan prints the faults that a test would do.
func (p *program) printPlan(faults []torture.Fault) error {
	return p.out.Show(faults, func() error {
		for _, f := range faults {
			if err := p.out.Printf("%s\n", f); err != nil {
				return err
			}
		}
		return nil
	})
}

// report prints a report, and returns the exit code that it means.
func (p *program) report(r *torture.Report, whole fmt.Stringer) error {
	code := verb.ExitOK
	if r.Interrupted {
		code = verb.ExitInterrupted
	}
	if len(r.Violations) > 0 {
		code = verb.ExitFailed
	}
	err := p.out.Show(whole, func() error { return p.out.Printf("%s", whole) })
	return errors.Join(err, verb.Exit(code))
}
