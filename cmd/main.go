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

	"github.com/treadle-run/treadle/internal/supervise"
	"github.com/treadle-run/treadle/job"
)

// Main runs the program with the arguments, streams and environment of the
// process, and the job types of r, and ends the process. SIGINT and SIGTERM
// end what runs in good order; a second one ends the process at once.
func Main(r *job.Registry) {
	supervise.Main() // a Job Runner starts this program once more to supervise commands
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
		os.Exit(exitFailed)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, r))
}

// run is Main for tests: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, r *job.Registry) int {
	p := &program{
		stdin: stdin, stdout: stdout, stderr: stderr,
		registry: r, lookup: os.LookupEnv, now: time.Now,
	}
	return p.run(ctx, args)
}

// program is what all verbs share.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	registry       *job.Registry
	lookup         func(string) (string, bool) // of environment variables
	now            func() time.Time

	addr   string // --addr
	output string // --output
	// started says that the arguments were good enough to begin.
	started bool
	closers []func()
}

func (p *program) run(ctx context.Context, args []string) int {
	defer func() {
		for _, closeIt := range p.closers {
			closeIt()
		}
	}()
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && !p.started {
		err = badCommandLine(root, args, err)
	}
	return p.exit(ctx, err)
}

// badCommandLine makes an error of cobra's one of ours.
func badCommandLine(root *cobra.Command, args []string, err error) error {
	if _, ok := errors.AsType[*exitError](err); ok {
		return err
	}
	if verb, _, findErr := root.Find(args); findErr != nil && verb == root {
		var names []string
		for _, v := range root.Commands() {
			names = append(names, v.Name())
		}
		if near := nearest(args[0], names); near != "" {
			return usageErrorf("there is no verb %q, did you mean %s?", args[0], near)
		}
		return usageErrorf("there is no verb %q; treadle help lists them", args[0])
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok && bad.GetFlag().Value.Type() == "uint" {
		return usageErrorf("--%s must be a whole number from 0 on, not %q", bad.GetFlag().Name, bad.GetValue())
	}
	return usageErrorf("%w; see treadle help", err)
}

const rootLong = `Treadle runs work that has many steps and must not get lost.

Exit codes of all verbs:
  0    it went well; of a request that was waited for: COMPLETE
  1    it did not; of a request that was waited for: FAIL or STOPPED
  2    bad input: the command line, an arg, an id that does not exist
  3    the Request Manager cannot be reached, or cannot answer now
  130  ended by Ctrl-C`

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "treadle",
		Short: "Runs requests: graphs of jobs that must not get lost",
		Long:  rootLong,
		Example: `  treadle dev                     everything in one process, to try it
  treadle start hello name=Ada --wait
  treadle requests                what can be asked for`,
		DisableSuggestions: true, // badCommandLine makes them
		SilenceErrors:      true,
		SilenceUsage:       true,
		PersistentPreRun: func(*cobra.Command, []string) {
			p.started = true
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddGroup(
		&cobra.Group{ID: groupUse, Title: "Requests:"},
		&cobra.Group{ID: groupApps, Title: "Recurring work:"},
		&cobra.Group{ID: groupSpecs, Title: "Specs:"},
		&cobra.Group{ID: groupServe, Title: "Services:"},
	)
	p.addGroup(root, groupUse, p.startVerb(), p.statusVerb(), p.infoVerb(), p.logVerb(), p.stopVerb(), p.watchVerb(),
		p.findVerb(), p.psVerb(), p.runningVerb(), p.requestsVerb())
	p.addGroup(root, groupApps, p.appsVerb(), p.appVerb(), p.periodsVerb(), p.blockedVerb(), p.instancesVerb(), p.eventsVerb(), p.scheduleVerb())
	p.addGroup(root, groupSpecs, p.lintVerb(), p.graphVerb())
	p.addGroup(root, groupServe, p.devVerb(), p.requestManagerVerb(), p.jobRunnerVerb(), p.migrateVerb(), p.checkVerb(),
		p.runnersVerb(), p.drainVerb(), p.tortureVerb())
	root.AddCommand(p.versionVerb())
	root.SetHelpCommand(p.helpVerb(root))
	return root
}

// The groups of verbs in the help.
const (
	groupUse   = "use"
	groupApps  = "apps"
	groupSpecs = "specs"
	groupServe = "serve"
)

func (p *program) addGroup(root *cobra.Command, id string, verbs ...*cobra.Command) {
	for _, v := range verbs {
		v.GroupID = id
		root.AddCommand(v)
	}
}
