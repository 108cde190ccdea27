package builtin

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/job"
)

func TestTheBuiltinTypes(t *testing.T) {
	t.Parallel()
	want := []string{"command", "fail", "noop", "shell", "sleep", "split"}
	if diff := cmp.Diff(want, Registry().Types()); diff != "" {
		t.Error(diff)
	}
}

func TestNoopSucceedsAlsoWhenItIsToStop(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := mustCreate(t, "noop", job.Values{"any": true}).run(ctx, nil)
	if diff := cmp.Diff(job.Result{}, res); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestSleepTakesItsTimeAndSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	tr := mustCreate(t, "sleep", job.Values{"duration": "1m30s"})
	synctest.Test(t, func(t *testing.T) {
		if got := job.Status(tr.job); got != "" {
			t.Errorf("status before it runs: %q", got)
		}
		start := time.Now()
		done := make(chan error, 1)
		go func() {
			_, err := tr.run(t.Context(), nil)
			done <- err
		}()
		for _, step := range []struct {
			after time.Duration
			left  string
		}{{0, "1m30s left"}, {30 * time.Second, "1m0s left"}, {85*time.Second + 250*time.Millisecond, "4.8s left"}} {
			<-time.After(time.Until(start.Add(step.after)))
			synctest.Wait()
			if got := job.Status(tr.job); got != step.left {
				t.Errorf("after %s: status %q, want %q", step.after, got, step.left)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != 90*time.Second {
			t.Errorf("slept %s", got)
		}
	})
}

func TestSleepStopsAtOnce(t *testing.T) {
	t.Parallel()
	tr := mustCreate(t, "sleep", job.Values{"duration": "1h"})
	reason := errors.New("enough")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(reason) })
		start := time.Now()
		if _, err := tr.run(ctx, nil); !errors.Is(err, reason) {
			t.Errorf("got %v, want the cause", err)
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("stopped after %s", got)
		}
	})
}

// sleepStack is the limit of bytes of stack that a sleep may need, on average. A
// goroutine starts with 2 KiB, or with 4 where the runtime has seen that others
// need more; a stack that had to grow has 8 or more.
const sleepStack = 4500

// Not parallel: it looks at the memory of the whole process.
func TestManySleepsNeedLittleMemory(t *testing.T) {
	const n = 10_000
	tr := mustCreate(t, "sleep", job.Values{"duration": "1h"})
	b, err := Registry().Create(t.Context(), &job.Info{Type: "sleep"}, job.Values{"duration": "1h"})
	if err != nil {
		t.Fatal(err)
	}
	r := Registry()
	ctx, cancel := context.WithCancel(job.WithInfo(t.Context(), &tr.info))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var ran sync.WaitGroup
	for range n {
		j, err := r.Load("sleep", b)
		if err != nil {
			t.Fatal(err)
		}
		ran.Go(func() { _, _ = job.Run(ctx, j, nil) })
		for job.Status(j) == "" {
			runtime.Gosched()
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	cancel()
	ran.Wait()
	stack := float64(after.StackInuse-before.StackInuse) / n
	heap := float64(after.HeapInuse-before.HeapInuse) / n
	t.Logf("each sleep: %.0f bytes of stack, %.0f of heap", stack, heap)
	if stack > sleepStack || heap > 2500 {
		t.Errorf("100,000 sleeps would take %.0f MiB", (stack+heap)*100_000/(1<<20))
	}
}

func TestFailFailsItsFirstTries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		args  job.Values
		fails uint // of 3 tries
		says  string
	}{
		{"always", job.Values{}, 3, "failed as it was told to"},
		{"twice", job.Values{"times": 2, "message": "no luck"}, 2, "no luck"},
		{"number as text", job.Values{"times": "1"}, 1, "failed"},
		{"never", job.Values{"times": 0}, 0, ""},
		{"optional args that are not given", job.Values{"times": "", "message": ""}, 3, "failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr := mustCreate(t, "fail", tt.args)
			for n := uint(1); n <= 3; n++ {
				tr.info.Try = n
				_, err := tr.run(t.Context(), nil)
				if n <= tt.fails {
					wantError(t, err, tt.says)
				} else if err != nil {
					t.Errorf("try %d: %v", n, err)
				}
			}
		})
	}
}

func TestSplitSetsTheList(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args job.Values
		want []any
	}{
		{job.Values{"string": "a,b,c"}, []any{"a", "b", "c"}},
		{job.Values{"string": "a, b", "separator": ", "}, []any{"a", "b"}},
		{job.Values{"string": "a b  c", "separator": " "}, []any{"a", "b", "", "c"}},
		{job.Values{"string": "a"}, []any{"a"}},
		{job.Values{"string": ","}, []any{"", ""}},
		{job.Values{"string": ""}, []any{}},
	}
	for _, tt := range tests {
		tr := mustCreate(t, "split", tt.args)
		if diff := cmp.Diff(tt.want, tt.args["list"]); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.args, diff)
		}
		if res, err := tr.run(t.Context(), nil); err != nil || res.Data != nil {
			t.Errorf("run: %v, %v", res, err)
		}
	}
}

func TestBadArgsEndTheCreation(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 128<<10)
	tests := []struct {
		name, jobType string
		args          job.Values
		arg, says     string
	}{
		{"no duration", "sleep", job.Values{}, "duration", `expected a duration that is not negative such as "1.5s", got nothing`},
		{"no unit", "sleep", job.Values{"duration": "5"}, "duration", `got the string "5": write "5s" for seconds`},
		{"long text", "sleep", job.Values{"duration": strings.Repeat("5", 61)}, "duration", "got the string of 61 bytes"},
		{"a number", "sleep", job.Values{"duration": 5}, "duration", `got the number 5: write "5s" for seconds`},
		{"negative", "sleep", job.Values{"duration": "-1s"}, "duration", "not negative"},
		{"negative times", "fail", job.Values{"times": -1}, "times", "whole number from 0 on, got the number -1"},
		{"half times", "fail", job.Values{"times": 1.5}, "times", "got the number 1.5"},
		{"list of times", "fail", job.Values{"times": []any{}}, "times", "got a list of 0"},
		{"message", "fail", job.Values{"message": true}, "message", "expected a string, got the boolean true"},
		{"nothing to split", "split", job.Values{}, "string", "got nothing"},
		{"split a list", "split", job.Values{"string": []any{"a"}}, "string", "got a list of 1"},
		{"split by nothing", "split", job.Values{"string": "a", "separator": ""}, "separator", "at least one character"},
		{"split by a number", "split", job.Values{"string": "a", "separator": 1}, "separator", "expected a string"},
		{"no script", "shell", job.Values{"a": "b"}, "script", "expected a string, got nothing"},
		{"script list", "shell", job.Values{"script": []any{"a"}}, "script", "expected a string"},
		{"no variable", "shell", job.Values{"script": ":", "my-arg": ""}, "my-arg", "shell variable"},
		{"digit first", "shell", job.Values{"script": ":", "1a": ""}, "1a", "shell variable"},
		{"reserved", "shell", job.Values{"script": ":", "TREADLE_TRY": ""}, "TREADLE_TRY", "reserved for Treadle"},
		{"NUL", "shell", job.Values{"script": ":", "a": "x\x00y"}, "a", "NUL"},
		{"too long", "shell", job.Values{"script": ":", "a": long}, "a", "at most 131069"},
		{"dir", "shell", job.Values{"script": ":", "dir": 1}, "dir", "expected a string"},
		{"grace", "shell", job.Values{"script": ":", "grace": "soon"}, "grace", "expected a duration"},
		{"no argv", "command", job.Values{}, "argv", `expected a list such as ["ls","-l"], got nothing`},
		{"argv text", "command", job.Values{"argv": "ls -l"}, "argv", `expected a list such as ["ls","-l"], got the string "ls -l"`},
		{"empty argv", "command", job.Values{"argv": []any{}}, "argv", "expected the name of a program first, got nothing"},
		{"no program", "command", job.Values{"argv": []any{""}}, "argv", "the name of a program first"},
		{"unknown name", "command", job.Values{"argv": []any{"ls", "${dri}"}}, "argv", "element 2, \"${dri}\": ${dri} is no arg of this node; job data is ${data.NAME}"},
		{"misspelt name", "command", job.Values{"argv": []any{"echo", "${nme}"}, "name": "x"}, "argv", "${nme} is no arg of this node, did you mean ${name}?"},
		{"option by name", "command", job.Values{"argv": []any{"ls", "${dir}"}, "dir": "/"}, "argv", "no arg"},
		{"no name of data", "command", job.Values{"argv": []any{"ls", "${data.}"}}, "argv", "no arg"},
		{"open brace", "command", job.Values{"argv": []any{"ls", "a${b"}, "b": ""}, "argv", "${ without a }"},
		{"reserved, too", "command", job.Values{"argv": []any{"ls"}, "TREADLE_X": 1}, "TREADLE_X", "reserved for Treadle"},
	}
	for _, tt := range tests {
		t.Run(tt.jobType+": "+tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := create(t, tt.jobType, tt.args)
			wantArgError(t, err, tt.arg, tt.says)
		})
	}
}
