package builtin

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/job"
)

func TestHowACommandEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		script string
		exit   int64
		says   string // "": success
	}{
		{"exit 0", 0, ""},
		{"exit 3", 3, "exit code 3"},
		{"exit 255", 255, "exit code 255"},
		{"kill -9 $$", 137, "killed by SIGKILL"},
		{"kill -TERM $$", 143, "killed by SIGTERM"},
		{"kill -SEGV $$", 139, "killed by SIGSEGV"},
		{"no-such-program", 127, "exit code 127"},
		{"-x", 127, "exit code 127"}, // not an option of the shell
		{"(exit 4) && echo", 4, "exit code 4"},
		{"if", 2, "exit code 2"},
	}
	for _, tt := range tests {
		t.Run(tt.script, func(t *testing.T) {
			t.Parallel()
			res, err := script(t, tt.script, nil, nil)
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || err.Error() != tt.says) {
				t.Errorf("got error %v, want %q", err, tt.says)
			}
			if res.Exit != tt.exit {
				t.Errorf("exit %d, want %d", res.Exit, tt.exit)
			}
		})
	}
}

func TestACommandThatCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var many []any
	for range 100 {
		many = append(many, "${data.big}")
	}
	tests := []struct {
		name string
		args job.Values
		says string
	}{
		{"missing program", job.Values{"argv": []any{"no-such-program"}}, "cannot start no-such-program"},
		{"missing path", job.Values{"argv": []any{"/no/such"}}, "cannot start /no/such"},
		{"not executable", job.Values{"argv": []any{file}}, "permission denied"},
		{"a directory", job.Values{"argv": []any{dir}}, "cannot start " + dir},
		{"missing dir", job.Values{"argv": []any{"true"}, "dir": "/no/such"}, "arg dir: stat /no/such: no such file"},
		{"dir is a file", job.Values{"argv": []any{"true"}, "dir": file}, "is not a directory"},
		{"too large", job.Values{"argv": append([]any{"true"}, many...)}, "too large for one program"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := mustCreate(t, "command", tt.args).run(t.Context(), job.Values{"big": strings.Repeat("x", 100<<10)})
			wantError(t, err, tt.says)
		})
	}
}

func TestACommandRunsInItsDir(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	res, err := script(t, "pwd", job.Values{"dir": dir}, nil)
	if err != nil || string(res.Stdout) != dir+"\n" {
		t.Errorf("got %q, %v", res.Stdout, err)
	}
}

func TestNothingStartsIfItIsToStopAlready(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := mustCreate(t, "shell", job.Values{"script": `touch "$mark"`, "mark": mark}).run(ctx, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran")
	}
}

func TestOutputIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	var want []byte
	for i := range 256 {
		want = append(want, byte(i))
	}
	file := filepath.Join(t.TempDir(), "bytes")
	if err := os.WriteFile(file, want, 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := script(t, `cat "$file"; cat "$file" "$file" >&2`, job.Values{"file": file}, nil)
	if err != nil || !bytes.Equal(res.Stdout, want) || !bytes.Equal(res.Stderr, append(want, want...)) {
		t.Errorf("got %q and %q, %v", res.Stdout, res.Stderr, err)
	}
}

// Not parallel: it looks at the memory of the whole process.
func TestBigOutputIsCappedInBoundedMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := script(t, `echo first; head -c 52428800 /dev/zero | tr '\0' x; echo; echo last; echo small >&2`, nil, nil)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Stdout) > maxOutput || len(res.Stdout) < maxOutput-markerSize {
		t.Errorf("%d bytes kept", len(res.Stdout))
	}
	out := string(res.Stdout)
	if !strings.HasPrefix(out, "first\nxxx") || !strings.HasSuffix(out, "xxx\nlast\n") {
		t.Errorf("head and tail are not kept: %.60q ... %q", out, out[len(out)-60:])
	}
	_, from, _ := strings.Cut(out, "\n[treadle: ")
	missing, _, ok := strings.Cut(from, " bytes are missing here]\n")
	if want := "51380316"; !ok || missing != want {
		t.Errorf("%q bytes missing, want %s", missing, want)
	}
	if string(res.Stderr) != "small\n" {
		t.Errorf("stderr %q", res.Stderr)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d MiB were allocated", used>>20)
	}
}

func TestStopEndsAllProcesses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		grace        string
		quick        bool // all ends by SIGTERM, long before the grace is over
	}{
		{"a child", `sleep 600 & echo $$ $! >"$ready"; wait`, "1m", true},
		{"in the foreground", `echo $$ >"$ready"; sleep 600; echo not reached`, "1m", true},
		{"ignores SIGTERM", `trap '' TERM; sh -c 'sleep 600 & sleep 600' & echo $$ $! >"$ready"; wait; sleep 600`, "100ms", false},
		{"only a grandchild ignores it", `(trap '' TERM; (sleep 600; sleep 600) & sleep 600) & echo $$ $! >"$ready"; wait`, "100ms", false},
		{"is suspended", `sleep 600 & echo $$ $! >"$ready"; kill -STOP $$; wait`, "1m", true},
		{"background with output elsewhere", `nohup sleep 600 >/dev/null 2>&1 & echo $$ $! >"$ready"; wait`, "1m", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ready := signalPipe(t)
			tr := mustCreate(t, "shell", job.Values{"script": tt.script, "ready": ready, "grace": tt.grace})
			reason := errors.New("the request was stopped")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ended := make(chan error, 1)
			go func() {
				_, err := tr.run(ctx, nil)
				ended <- err
			}()
			pids := readLine(t, ready)
			start := time.Now()
			cancel(reason)
			if err := <-ended; !errors.Is(err, reason) {
				t.Errorf("got %v, want the cause", err)
			}
			if took := time.Since(start); tt.quick && took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			for _, pid := range pids {
				wantGone(t, pid)
			}
			wantGroupGone(t, pids[0])
		})
	}
}

func TestAStoppedCommandMayPutThingsInOrder(t *testing.T) {
	t.Parallel()
	ready := signalPipe(t)
	// The shell dies of SIGTERM at once; what it runs needs a moment.
	tr := mustCreate(t, "shell", job.Values{
		"script": `sh -c 'trap "sleep 0.3; echo in order; exit 0" TERM; echo $$ >"$ready"; while :; do sleep 0.05; done'; echo not reached`,
		"ready":  ready, "grace": "1m",
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var res job.Result
	ended := make(chan error, 1)
	go func() {
		var err error
		res, err = tr.run(ctx, nil)
		ended <- err
	}()
	readLine(t, ready)
	cancel()
	wantError(t, <-ended, "stopped: context canceled")
	if string(res.Stdout) != "in order\n" {
		t.Errorf("stdout %q", res.Stdout)
	}
}

func TestACommandThatWasToldToStopCountsAsStopped(t *testing.T) {
	t.Parallel()
	ready := signalPipe(t)
	tr := mustCreate(t, "shell", job.Values{
		"script": `trap 'echo a=1 >$TREADLE_OUTPUT; exit 0' TERM; echo $$ >"$ready"; while :; do sleep 0.05; done`,
		"ready":  ready,
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var res job.Result
	ended := make(chan error, 1)
	go func() {
		var err error
		res, err = tr.run(ctx, nil)
		ended <- err
	}()
	readLine(t, ready)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || res.Exit != 0 || res.Data != nil {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestStatusNamesTheProcess(t *testing.T) {
	t.Parallel()
	ready, release := signalPipe(t), signalPipe(t)
	tr := mustCreate(t, "shell", job.Values{"script": `echo $$ >"$ready"; read line <"$release"`, "ready": ready, "release": release})
	if got := job.Status(tr.job); got != "" {
		t.Errorf("status %q before it runs", got)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := tr.run(t.Context(), nil)
		ended <- err
	}()
	pid := readLine(t, ready)[0]
	// The script may be ahead of the runner, but not for long.
	for job.Status(tr.job) == "" {
		runtime.Gosched()
	}
	if got := job.Status(tr.job); got != "process "+pid {
		t.Errorf("status %q while %s runs", got, pid)
	}
	if err := os.WriteFile(release, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := job.Status(tr.job); got != "" {
		t.Errorf("status %q when it has ended", got)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script string }{
		{"holds the pipe", `sleep 600 & echo $$ $!`},
		{"output elsewhere", `sleep 600 >/dev/null 2>&1 & echo $$ $!`},
		{"ignores SIGTERM", `(trap '' TERM; sleep 600) & echo $$ $!`},
		{"exit code", `sleep 600 & echo $$ $!; exit 3`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, err := script(t, tt.script, nil, nil)
			if want := strings.Contains(tt.script, "exit 3"); (err != nil) != want {
				t.Errorf("got %v", err)
			}
			pids := strings.Fields(string(res.Stdout))
			if len(pids) != 2 {
				t.Fatalf("stdout %q", res.Stdout)
			}
			wantGone(t, pids[1])
			wantGroupGone(t, pids[0])
		})
	}
}

// A process that left the group on purpose stays, and its hold on the pipe
// neither hangs the job nor loses what was written.
func TestAProcessOfAnotherSessionDoesNotHangTheJob(t *testing.T) {
	t.Parallel()
	const size = 60_000 // fits in the pipe: the reader may see it after the end
	res, err := script(t, `setsid sh -c 'echo $$ >"$ready"; exec sleep 600' 9>&- & head -c $size /dev/zero; read pid <"$ready"; echo $pid >&2`,
		job.Values{"ready": signalPipe(t), "size": size}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Stdout) != size {
		t.Errorf("%d bytes of %d", len(res.Stdout), size)
	}
	pid := strings.TrimSpace(string(res.Stderr))
	if _, err := script(t, `kill -0 $pid && kill -9 $pid`, job.Values{"pid": pid}, nil); err != nil {
		t.Errorf("process %s of another session was ended: %v", pid, err)
	}
}

// One of another session that writes without end does not hang it either.
func TestAWriterOfAnotherSessionDoesNotHangTheJob(t *testing.T) {
	t.Parallel()
	res, err := script(t, `setsid sh -c 'echo $$ >"$ready"; exec yes' & read pid <"$ready"; echo $pid >&2`,
		job.Values{"ready": signalPipe(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The end of the pipe has ended it already, or does so soon.
	wantPid := strings.TrimSpace(string(res.Stderr))
	if _, err := script(t, `kill -9 $pid 2>/dev/null; test -n "$pid"`, job.Values{"pid": wantPid}, nil); err != nil {
		t.Errorf("no process id in %q", res.Stderr)
	}
}

func TestACommandHasNoInputAndNoTerminal(t *testing.T) {
	t.Parallel()
	res, err := script(t, `cat; (: </dev/tty) 2>/dev/null && echo terminal; :`, nil, nil)
	if err != nil || len(res.Stdout) > 0 {
		t.Errorf("got %q, %v", res.Stdout, err)
	}
}

func TestManyCommandsAtOnce(t *testing.T) {
	t.Parallel()
	const n = 50
	ended := make(chan error, n)
	for i := range n {
		tr := mustCreate(t, "shell", job.Values{"script": `echo "$i"; sleep 0.05 & wait`, "i": i})
		go func() {
			res, err := tr.run(t.Context(), nil)
			if err == nil && string(res.Stdout) != strconv.Itoa(i)+"\n" {
				err = errors.New("output of another: " + string(res.Stdout))
			}
			ended <- err
		}()
	}
	for range n {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
