package builtin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/internal/supervise"
	"github.com/treadle-run/treadle/job"
)

// supervisor is what commands of all tests run under, as in a runner.
var supervisor = supervise.New(slog.New(slog.DiscardHandler))

func TestMain(m *testing.M) {
	supervise.Main()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		supervisor.Run(ctx)
	}()
	supervisor.Lease(time.Now().Add(time.Hour))
	code := m.Run()
	stop()
	<-ended
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

var requests atomic.Int64

// try is one job of a built-in type on its way through its two lives.
type try struct {
	job  job.Job
	info job.Info
}

// create makes a job as the Request Manager does and loads it as a runner does.
func create(t *testing.T, jobType string, args job.Values) (try, error) {
	t.Helper()
	if err := args.Normalize(); err != nil {
		t.Fatal(err)
	}
	// Each try here is of a request of its own, so that none waits for another.
	info := job.Info{RequestID: fmt.Sprintf("req%d", requests.Add(1)), JobID: "job1", Name: "node", Type: jobType}
	r := Registry()
	b, err := r.Create(t.Context(), &info, args)
	if err != nil {
		return try{}, err
	}
	j, err := r.Load(jobType, b)
	if err != nil {
		t.Fatal(err)
	}
	info.Try, info.Epoch, info.Args = 1, 1, args
	return try{j, info}, nil
}

func mustCreate(t *testing.T, jobType string, args job.Values) try {
	t.Helper()
	tr, err := create(t, jobType, args)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func (tr try) run(ctx context.Context, data job.Values) (job.Result, error) {
	return tr.runUnder(ctx, supervisor, data)
}

func (tr try) runUnder(ctx context.Context, s supervise.Starter, data job.Values) (job.Result, error) {
	ctx = supervise.With(ctx, s)
	return job.Run(job.WithInfo(ctx, &tr.info), tr.job, data)
}

// script runs one try of a shell job.
func script(t *testing.T, text string, args, data job.Values) (job.Result, error) {
	t.Helper()
	all := job.Values{"script": text}
	for k, x := range args {
		all[k] = x
	}
	return mustCreate(t, "shell", all).run(t.Context(), data)
}

// wantArgError checks that err names the arg and says what is wrong with it.
func wantArgError(t *testing.T, err error, arg, says string) {
	t.Helper()
	argErr, ok := errors.AsType[*job.ArgError](err)
	if !ok {
		t.Fatalf("got %v, want an ArgError for %s", err, arg)
	}
	if argErr.Arg != arg || !strings.Contains(argErr.Message, says) {
		t.Errorf("got %q, want arg %s and %q", err, arg, says)
	}
}

// wantError checks that err says something.
func wantError(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("got error %v, want it to say %q", err, says)
	}
}

// signalPipe is a named pipe with which a script says that it has come to some
// point. The script is told its path by the arg `ready`.
func signalPipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ready")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// readLine waits for a line in the pipe and returns its fields.
func readLine(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0) // does not wait for a writer
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		t.Fatalf("the script did not come to its point: %v", err)
	}
	return strings.Fields(line)
}

// wantGone checks that a process has ended. Dead ones that process 1 has not yet
// waited for are gone.
func wantGone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 1 {
		t.Fatalf("%q is no process id", pid)
	}
	if syscall.Kill(n, 0) == syscall.ESRCH {
		return
	}
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return
	}
	if _, after, ok := strings.Cut(string(b), ") "); err != nil || !ok || after[0] != 'Z' {
		t.Errorf("process %s still lives: %s", pid, b)
	}
}

// wantGroupGone checks that no process of a group lives.
func wantGroupGone(t *testing.T, pgid string) {
	t.Helper()
	n, err := strconv.Atoi(pgid)
	if err != nil || n <= 1 {
		t.Fatalf("%q is no process group", pgid)
	}
	if syscall.Kill(-n, 0) == syscall.ESRCH {
		return
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		b, _ := os.ReadFile(stat)
		_, after, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(after); len(f) > 2 && f[2] == pgid && f[0] != "Z" {
			t.Errorf("a process of group %s still lives: %s", pgid, b)
		}
	}
}
