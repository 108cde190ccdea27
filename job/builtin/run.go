package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/treadle-run/treadle/internal/supervise"
	"github.com/treadle-run/treadle/job"
)

// defaultGrace is how long a command has between SIGTERM and SIGKILL.
const defaultGrace = 10 * time.Second

// program is what the job types shell and command share: where and how a command
// runs, and what becomes of it.
type program struct {
	dir   string
	grace time.Duration
	// args are those that the command gets in its environment.
	args job.Values

	pid atomic.Int64 // 0 while nothing runs
}

// configure takes the args that every command has out of args, which must be the
// caller's own copy, and keeps the others.
func (p *program) configure(args job.Values) error {
	var err error
	if p.dir, err = stringArg(args, "dir"); err != nil {
		return err
	}
	if p.grace, err = durationArg(args, "grace", defaultGrace); err != nil {
		return err
	}
	delete(args, "dir")
	delete(args, "grace")
	p.args = args
	return nil
}

// run runs argv to its end. The result has the exit code and the output also
// beside an error; job data only without one.
func (p *program) run(ctx context.Context, argv []string, data job.Values) (job.Result, error) {
	if ctx.Err() != nil {
		return job.Result{}, stoppedError(ctx)
	}
	if err := checkDir(p.dir); err != nil {
		return job.Result{}, err
	}
	outputs, err := newOutputsFile()
	if err != nil {
		return job.Result{}, err
	}
	defer outputs.remove()

	info := job.InfoOf(ctx)
	child := process{
		argv:    argv,
		env:     environ(&info, p.args, data, outputs.Name()),
		dir:     p.dir,
		grace:   p.grace,
		lock:    info.RequestID + "." + info.JobID,
		files:   []string{outputs.Name()},
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
	if out.signal != "" {
		return res, fmt.Errorf("killed by %s", out.signal)
	}
	if out.exit != 0 {
		return res, fmt.Errorf("exit code %d", out.exit)
	}
	res.Data, err = outputs.read()
	return res, err
}

// withLeftovers adds a line that names the processes that a command left behind.
func withLeftovers(stderr []byte, leftovers []string) []byte {
	if len(leftovers) == 0 {
		return stderr
	}
	if n := len(stderr); n > 0 && stderr[n-1] != '\n' {
		stderr = append(stderr, '\n')
	}
	return fmt.Appendf(stderr, "[treadle: the command ended and left processes behind, which were ended: %s]\n", strings.Join(leftovers, ", "))
}

// Status says which process runs, for who looks for it on the host.
func (p *program) Status() string {
	if pid := p.pid.Load(); pid != 0 {
		return fmt.Sprintf("process %d", pid)
	}
	return ""
}

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
		return fmt.Errorf("cannot start %s: its args and job data are too large for one program: %w", name, err)
	}
	return fmt.Errorf("cannot start %s: %w", name, err)
}

func stoppedError(ctx context.Context) error {
	return fmt.Errorf("stopped: %w", context.Cause(ctx))
}
