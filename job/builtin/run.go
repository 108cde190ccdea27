package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/treadle-run/treadle/internal/supervise"
	"github.com/treadle-run/treadle/job"
)

// program is what the job types shell and command share: where and how a command
// runs, and what becomes of it.
type program struct {
	dir   string
	grace time.Duration
	// args are those that the command gets in its environment.
	args job.Values

	pid   atomic.Int64           // 0 while nothing runs
	ends  atomic.Int64           // see Grace
	short atomic.Pointer[string] // what the machine is short of, so that nothing runs
}

// programArgs are the args that every command has.
var programArgs = []job.Arg{
	{Name: "dir", Type: job.String, Doc: "the directory in which the command runs; without it, that of the runner"},
	{Name: "grace", Type: job.Duration, Default: "10s", Doc: "how long the command may take to end after SIGTERM"},
}

// configure takes the args that every command has out of args, which must be the
// caller's own copy of what its declaration accepted, and keeps the others.
func (p *program) configure(args job.Values) {
	p.dir, _ = args["dir"].(string)
	grace, _ := args["grace"].(string)
	p.grace, _ = time.ParseDuration(grace) // it was accepted
	delete(args, "dir")
	delete(args, "grace")
	p.args = args
}

// run runs argv to its end. The result has the exit code and the output also
// beside an error; job data only without one. A command for which the machine has no
// room waits for it: that uses up no try.
func (p *program) run(ctx context.Context, argv []string, data job.Values) (res job.Result, err error) {
	p.ends.Store(int64(p.grace))
	err = p.persist(ctx, func() error {
		res, err = p.attempt(ctx, argv, data)
		return err
	})
	return res, err
}

// attempt is run without patience. An error that isShortage says that nothing ran.
func (p *program) attempt(ctx context.Context, argv []string, data job.Values) (job.Result, error) {
	if ctx.Err() != nil {
		return job.Result{}, stoppedError(ctx)
	}
	if err := checkDir(p.dir); err != nil {
		return job.Result{}, err
	}
	outputs, err := newTryFile("output")
	if err != nil {
		return job.Result{}, err
	}
	defer outputs.remove()
	dataFile, err := newDataFile(data)
	if err != nil {
		return job.Result{}, err
	}
	defer dataFile.remove()

	info := job.InfoOf(ctx)
	env, omitted := environ(argv, p.args, data, p.variables(&info, outputs, dataFile))
	child := process{
		argv:    argv,
		env:     env,
		dir:     p.dir,
		grace:   p.grace,
		lock:    info.RequestID + "." + info.JobID,
		files:   []string{outputs.Name(), dataFile.Name()},
		started: func(pid int) { p.pid.Store(int64(pid)) },
	}
	out, err := child.run(ctx)
	p.pid.Store(0)
	res := job.Result{Exit: out.exit, Stdout: out.stdout, Stderr: withLeftovers(out.stderr, out.leftovers)}
	switch {
	case ctx.Err() != nil && (err != nil || out.stopped):
		return res, stoppedError(ctx)
	case out.interrupted, errors.Is(err, supervise.ErrInterrupted):
		return res, errInterrupted
	case err != nil:
		return res, startError(argv[0], err)
	}
	if out.exit != 0 {
		res.Stderr = withOmitted(res.Stderr, omitted)
	}
	if out.signal != "" {
		return res, fmt.Errorf("killed by %s", out.signal)
	}
	if out.exit != 0 {
		return res, fmt.Errorf("exit code %d", out.exit)
	}
	err = p.persist(ctx, func() error { // it has run, and must not run again for that
		res.Data, err = outputs.readOutputs()
		return err
	})
	if isShortage(err) {
		err = errors.New(err.Error())
	}
	return res, err
}

// variables are what Treadle says of a try. PWD is here so that a program that is not
// started by a shell does not believe that it is where the runner is; an arg may say
// otherwise.
func (p *program) variables(info *job.Info, outputs, data tryFile) map[string]string {
	own := map[string]string{
		"TREADLE_REQUEST_ID": info.RequestID,
		"TREADLE_JOB_ID":     info.JobID,
		"TREADLE_TRY":        strconv.FormatUint(uint64(info.Try), 10),
		"TREADLE_EPOCH":      strconv.FormatUint(info.Epoch, 10),
		"TREADLE_OUTPUT":     outputs.Name(),
		"TREADLE_DATA":       data.Name(),
	}
	if _, given := p.args["PWD"]; !given {
		if dir, err := filepath.Abs(p.dir); err == nil { // of "": the directory of the runner
			own["PWD"] = dir
		}
	}
	return own
}

// withOmitted adds a line to the output of a command that failed, which names the job
// data that it did not get as variables: that may be why.
func withOmitted(stderr []byte, names []string) []byte {
	if len(names) == 0 {
		return stderr
	}
	const limit = 10
	text := strings.Join(names[:min(len(names), limit)], ", ")
	if more := len(names) - limit; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return appendLine(stderr, "[treadle: job data that did not fit into the environment is only in the file named by TREADLE_DATA: %s]", text)
}

// withLeftovers adds a line that names the processes that a command left behind.
func withLeftovers(stderr []byte, leftovers []string) []byte {
	if len(leftovers) == 0 {
		return stderr
	}
	return appendLine(stderr, "[treadle: the command ended and left processes behind, which were ended: %s]", strings.Join(leftovers, ", "))
}

// appendLine appends a line of Treadle to output.
func appendLine(output []byte, format string, args ...any) []byte {
	if n := len(output); n > 0 && output[n-1] != '\n' {
		output = append(output, '\n')
	}
	return append(fmt.Appendf(output, format, args...), '\n')
}

// Status says which process runs, for who looks for it on the host.
func (p *program) Status() string {
	if pid := p.pid.Load(); pid != 0 {
		return fmt.Sprintf("process %d", pid)
	}
	if short := p.short.Load(); short != nil {
		return "waits to start: " + *short
	}
	return ""
}

// Grace says how long the command may take to end once it was told to.
func (p *program) Grace() time.Duration { return time.Duration(p.ends.Load()) }

// checkDir gives a missing directory its own message: the system names the
// program instead.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("arg dir: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("arg dir: %s is not a directory", dir)
	}
	return nil
}

func startError(name string, err error) error {
	if errors.Is(err, syscall.E2BIG) {
		return fmt.Errorf("cannot start %s: its arguments are too large for one program: %w", name, err)
	}
	return fmt.Errorf("cannot start %s: %w", name, err)
}

func stoppedError(ctx context.Context) error {
	return fmt.Errorf("stopped: %w", context.Cause(ctx))
}
