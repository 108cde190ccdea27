package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/treadle-run/treadle/cmd/internal/apps"
	"github.com/treadle-run/treadle/cmd/internal/fleet"
	"github.com/treadle-run/treadle/cmd/internal/requests"
	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/tools"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/cmd/internal/version"
	"github.com/treadle-run/treadle/internal/private"
	"github.com/treadle-run/treadle/internal/supervise"
	"github.com/treadle-run/treadle/job"
)

// Main runs the program with the job types of r and the arguments, streams and
// environment of the process. It does not return: it ends the process. SIGINT and
// SIGTERM shut down services; a second signal ends the process at once.
func Main(r *job.Registry) {
	supervise.Main() // a Job Runner starts this program once more to supervise commands
	// Jobs run as this user, and must not read what the service knows.
	env := verb.SystemEnvironment()
	private.ForgetEnvironment("TREADLE_")
	_ = private.Hide() // else secrets are out of its environment at least
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// This goroutine lives as long as the process.
	go func() {
		<-signals
		cancel()
		if s, ok := (<-signals).(syscall.Signal); ok {
			os.Exit(128 + int(s))
		}
		os.Exit(verb.ExitFailed)
	}()
	os.Exit(run(ctx, os.Args[1:], env, os.Stdin, os.Stdout, os.Stderr, r))
}

// run is Main for tests: it returns the exit code.
func run(ctx context.Context, args []string, env verb.Environment, stdin io.Reader, stdout, stderr io.Writer, r *job.Registry) int {
	p := &program{
		stdin: stdin, out: &term.Out{Stdout: stdout, Stderr: stderr, Now: time.Now},
		env: env, registry: r,
	}
	return p.run(ctx, args)
}

// program holds what its verbs are given.
type program struct {
	stdin    io.Reader
	out      *term.Out
	env      verb.Environment
	registry *job.Registry
	// started says that the command line was understood, so that a verb runs.
	started bool
}

func (p *program) run(ctx context.Context, args []string) int {
	p.out.Columns = p.env.Get("COLUMNS")
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.stdin)
	root.SetOut(p.out.Stdout)
	root.SetErr(p.out.Stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && !p.started {
		err = badCommandLine(root, args, err)
	}
	return p.exit(ctx, err)
}

// exit prints err, if there is something to print, and returns the exit code.
func (p *program) exit(ctx context.Context, err error) int {
	exitErr, isExit := errors.AsType[*verb.ExitError](err)
	switch {
	case err == nil, isExit && exitErr.Err == nil:
		return verb.ExitCode(err)
	case !isExit && ctx.Err() != nil && errors.Is(err, context.Canceled):
		p.out.Say("treadle: interrupted")
		return verb.ExitInterrupted
	}
	p.out.Say("treadle: %s", verb.Message(err))
	return verb.ExitCode(err)
}

// badCommandLine puts an error of cobra's into our words.
func badCommandLine(root *cobra.Command, args []string, err error) error {
	if _, ok := errors.AsType[*verb.ExitError](err); ok {
		return err
	}
	if found, _, findErr := root.Find(args); findErr != nil && found == root {
		var names []string
		for _, v := range root.Commands() {
			names = append(names, v.Name())
		}
		if near := verb.Nearest(args[0], names); near != "" {
			return verb.Usagef("unknown command %q, did you mean %s?", args[0], near)
		}
		return verb.Usagef("unknown command %q; treadle help lists all", args[0])
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok && bad.GetFlag().Value.Type() == "uint" {
		return verb.Usagef("--%s must be a whole number of at least 0, not %q", bad.GetFlag().Name, bad.GetValue())
	}
	return verb.Usagef("%w; see treadle help", err)
}

const rootLong = `Treadle runs work that has many steps and must not get lost. A request becomes a graph of
jobs. Whatever crashes, the work continues, and no completed job runs again.

Exit codes:
  0    success; of a request that was waited for: COMPLETE
  1    failure; of a request that was waited for: FAIL or STOPPED
  2    bad input: the command line, the configuration, an arg, or an unknown id
  3    the Request Manager or the database is unavailable
  130  interrupted by Ctrl-C`

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:     "treadle",
		Short:   "Run work of many steps that must not get lost",
		Long:    rootLong,
		Version: version.Get().String(),
		Example: `  treadle dev                          # everything in one process, to try it
  treadle requests                     # what can be started
  treadle start hello name=Ada --wait`,
		DisableSuggestions: true, // badCommandLine makes them
		SilenceErrors:      true,
		SilenceUsage:       true,
		PersistentPreRun: func(*cobra.Command, []string) {
			p.started = true
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddGroup(
		&cobra.Group{ID: groupUse, Title: "Requests:"},
		&cobra.Group{ID: groupApps, Title: "Recurring work:"},
		&cobra.Group{ID: groupSpecs, Title: "Specs:"},
		&cobra.Group{ID: groupServe, Title: "Services:"},
	)
	m := verb.NewManager(p.env, p.out)
	specs := tools.Specs{Env: p.env, Registry: p.registry}
	addGroup(root, groupUse, requests.Verbs(m, p.stdin)...)
	addGroup(root, groupApps, apps.Verbs(m, p.out, p.stdin, specs.App)...)
	addGroup(root, groupSpecs, tools.LintVerb(specs, p.out), tools.GraphVerb(specs, p.out), tools.JobTypesVerb(p.registry, p.out))
	s := services{registry: p.registry, env: p.env, out: p.out}
	addGroup(root, groupServe, devVerb(s, m), requestManagerVerb(s), jobRunnerVerb(s), tools.MigrateVerb(p.env, p.out), tools.CheckVerb(p.env, p.out))
	addGroup(root, groupServe, fleet.Verbs(m)...)
	root.AddCommand(versionVerb(p.out))
	root.SetHelpCommand(helpVerb(root, m, p.out))
	return root
}

// The groups of verbs in the help.
const (
	groupUse   = "use"
	groupApps  = "apps"
	groupSpecs = "specs"
	groupServe = "serve"
)

func addGroup(root *cobra.Command, id string, verbs ...*cobra.Command) {
	for _, v := range verbs {
		v.GroupID = id
		root.AddCommand(v)
	}
}
