package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// What a try that ends in some way leaves in the job log.
func TestHowATryEnds(t *testing.T) {
	t.Parallel()
	returns := func(res job.Result, err error) runFunc {
		return func(context.Context, job.Values) (job.Result, error) { return res, err }
	}
	for _, c := range []struct {
		name   string
		run    runFunc
		change func(*proto.Job)
		state  proto.State
		says   string // in the error
		check  func(t *testing.T, e proto.JobLog)
	}{
		{name: "well", run: returns(job.Result{Exit: 3, Stdout: []byte("out"), Data: job.Values{"n": 3}}, nil), state: proto.StateComplete,
			check: func(t *testing.T, e proto.JobLog) {
				if e.Exit != 3 || e.Stdout != "out" || e.Data["n"] != int64(3) || e.Epoch != 7 || e.FinishedAt < e.StartedAt {
					t.Errorf("entry %+v", e)
				}
			}},
		{name: "badly", run: returns(job.Result{Stderr: []byte{0xff, 'x'}}, errors.New("disk full")), state: proto.StateFail, says: "disk full",
			check: func(t *testing.T, e proto.JobLog) {
				if _, stderr := e.Output(); string(stderr) != "\xffx" {
					t.Errorf("stderr is %q", stderr)
				}
			}},
		{name: "data of a try that failed does not count", run: returns(job.Result{Data: job.Values{"n": 1}}, errors.New("no")), state: proto.StateFail, says: "no",
			check: func(t *testing.T, e proto.JobLog) {
				if e.Data != nil {
					t.Errorf("data %v", e.Data)
				}
			}},
		{name: "panic", run: func(context.Context, job.Values) (job.Result, error) { panic("tiger escaped") }, state: proto.StateFail,
			says: "panic in Run: ****** escaped",
			check: func(t *testing.T, e proto.JobLog) {
				if !strings.Contains(e.Stderr, "try_test.go") || strings.Contains(e.Stderr, "tiger") {
					t.Errorf("the stack is not in stderr, or with the secret: %s", e.Stderr)
				}
			}},
		{name: "goroutine", run: func(context.Context, job.Values) (job.Result, error) { runtime.Goexit(); return job.Result{}, nil },
			state: proto.StateFail, says: "ended its goroutine"},
		{name: "secrets in all outputs", run: returns(job.Result{Stdout: []byte("a tiger"), Stderr: []byte("tigers")}, errors.New("no tiger here")),
			state: proto.StateFail, says: "no ****** here",
			check: func(t *testing.T, e proto.JobLog) {
				if e.Stdout != "a ******" || e.Stderr != "******s" {
					t.Errorf("stdout %q, stderr %q", e.Stdout, e.Stderr)
				}
			}},
		{name: "secret in data", run: returns(job.Result{Data: job.Values{"list": []any{"x", "my tiger"}}}, nil), state: proto.StateFail,
			says: "must not hold the value of a secret arg"},
		{name: "too much data", run: returns(job.Result{Data: job.Values{"x": strings.Repeat("x", 1<<20)}}, nil), state: proto.StateFail,
			says: "at most 1048576 are allowed"},
		{name: "data that JSON cannot carry", run: returns(job.Result{Data: job.Values{"f": func() {}}}, nil), state: proto.StateFail, says: "job data: "},
		{name: "endless output", run: returns(job.Result{Stdout: []byte(strings.Repeat("x", 9<<20))}, errors.New(strings.Repeat("y", 1<<20))), state: proto.StateFail, says: "yyy",
			check: func(t *testing.T, e proto.JobLog) {
				if len(e.Stdout) > 2<<20+100 || !strings.Contains(e.Stdout, "bytes are missing here") || len(e.Error) > 65<<10 {
					t.Errorf("%d bytes of stdout, %d of the error are kept", len(e.Stdout), len(e.Error))
				}
			}},
		{name: "timeout", run: takes(time.Hour), change: func(j *proto.Job) { j.Timeout = proto.Duration(5 * time.Second) }, state: proto.StateFail,
			says: "timed out after 5s",
			check: func(t *testing.T, e proto.JobLog) {
				if d := time.Duration(e.FinishedAt - e.StartedAt); d != 5*time.Second {
					t.Errorf("timed out after %s", d)
				}
			}},
		{name: "done just before its timeout", run: takes(5*time.Second - 1), change: func(j *proto.Job) { j.Timeout = proto.Duration(5 * time.Second) },
			state: proto.StateComplete},
		{name: "unknown type", change: func(j *proto.Job) { j.Type = "nobody/knows" }, state: proto.StateFail, says: "nobody/knows"},
		{name: "panic in load", change: func(j *proto.Job) { j.Type = "broken" }, state: proto.StateFail, says: "panic in UnmarshalBinary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rm := newFakeRM()
				h := start(t, rm, map[string]runFunc{"a": c.run})
				h.start(chainOf(someID, "a", func(jc *proto.JobChain) {
					jc.Secrets = []string{"tiger"}
					if c.change != nil {
						c.change(jc.Jobs["a"])
					}
				}), 7)
				after(10 * time.Second)
				if len(rm.log[someID]) != 1 {
					t.Fatalf("log: %s", rm.states(someID))
				}
				e := rm.log[someID][0]
				if e.State != c.state || !strings.Contains(e.Error, c.says) || c.says == "" && e.Error != "" {
					t.Errorf("entry is %s, %.200q; want %s, %q", e.State, e.Error, c.state, c.says)
				}
				if c.check != nil {
					c.check(t, e)
				}
				item := h.wantEnd(someID, c.state)
				if strings.Contains(item.Reason, "tiger") {
					t.Errorf("the reason has the secret: %s", item.Reason)
				}
			})
		})
	}
}

func TestAJobKnowsWhichTryItIsAndSeesTheDataBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var infos []string
		h := start(t, newFakeRM(), map[string]runFunc{
			"a": func(context.Context, job.Values) (job.Result, error) {
				return job.Result{Data: job.Values{"n": int64(3)}}, nil
			},
			"b": func(ctx context.Context, data job.Values) (job.Result, error) {
				i := job.InfoOf(ctx)
				infos = append(infos, fmt.Sprintf("%s %s try %d epoch %d arg %v data %v", i.RequestID, i.JobID, i.Try, i.Epoch, i.Args["x"], data["n"]))
				if i.Try == 1 {
					return job.Result{}, errors.New("again")
				}
				return job.Result{}, nil
			},
		})
		h.start(chainOf(someID, "a>b", func(jc *proto.JobChain) {
			jc.Jobs["b"].Retry, jc.Jobs["b"].Args = 1, proto.Values{"x": "y"}
		}), 4)
		h.wantEnd(someID, proto.StateComplete)
		want := someID + " b try 1 epoch 4 arg y data 3\n" + someID + " b try 2 epoch 4 arg y data 3"
		if got := strings.Join(infos, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestRetriesWaitAsLongAsTheySay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		before := time.Now()
		var at []time.Duration
		h := start(t, newFakeRM(), map[string]runFunc{"a": func(context.Context, job.Values) (job.Result, error) {
			at = append(at, time.Since(before))
			return job.Result{}, errors.New("no")
		}})
		h.start(chainOf(someID, "a", func(jc *proto.JobChain) {
			jc.Jobs["a"].Retry, jc.Jobs["a"].RetryWait = 2, proto.Duration(30*time.Second)
		}), 1)
		after(time.Hour)
		item := h.wantEnd(someID, proto.StateFail)
		if fmt.Sprint(at) != "[0s 30s 1m0s]" {
			t.Errorf("tries at %v", at)
		}
		if want := "job a (a) failed in try 3: no"; item.Reason != want {
			t.Errorf("reason %q, want %q", item.Reason, want)
		}
	})
}

// a -> b in a sequence with a timeout: it ends the job that runs, and what comes
// after does not start.
func TestTheTimeoutOfASequenceEndsItsJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		h := start(t, rm, map[string]runFunc{"a": takes(40 * time.Second), "b": takes(40 * time.Second)})
		h.start(chainOf(someID, "a>b>c", func(jc *proto.JobChain) {
			jc.Jobs["b"].Retry = 5
			jc.Sequences["main"].Timeout = proto.Duration(time.Minute)
		}), 1)
		after(time.Minute)
		h.wantEnd(someID, proto.StateFail)
		h.wantLog(someID, "a1 COMPLETE, b1 FAIL")
		if e := rm.log[someID][1]; e.TimedOut != "main" || e.Error != "the timeout of sequence main passed" {
			t.Errorf("entry %+v", e)
		}
	})
}

// (a -> b) in a sequence that waits for its second try when its own timeout passes, or
// that of the sequence around it: the first error is not lost, and nobody says that a
// try failed which never ran.
func TestATimeoutWhileASequenceWaits(t *testing.T) {
	t.Parallel()
	fails := func(context.Context, job.Values) (job.Result, error) { return job.Result{}, errors.New("disk full") }
	for _, c := range []struct {
		name, reason string
		change       func(jc *proto.JobChain)
	}{
		{"its own", "job b (b) failed in try 1: disk full; then the timeout of sequence retried passed before try 2 of job a (a) started", func(jc *proto.JobChain) {
			jc.Sequences["s"].Timeout = proto.Duration(time.Minute)
		}},
		{"of the one around it", "job b (b) failed in try 1: disk full; then the timeout of sequence main passed before try 2 of job a (a) started", func(jc *proto.JobChain) {
			jc.Sequences["main"].Timeout = proto.Duration(time.Minute)
		}},
		{"a job waits", "job b (b) failed in try 1: disk full; then the timeout of sequence main passed before try 2 of job b (b) started", func(jc *proto.JobChain) {
			jc.Sequences["main"].Timeout = proto.Duration(time.Minute)
			jc.Jobs["b"].Retry, jc.Jobs["b"].RetryWait = 1, proto.Duration(time.Hour)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rm := newFakeRM()
				h := start(t, rm, map[string]runFunc{"b": fails})
				h.start(chainOf(someID, "a>b", func(jc *proto.JobChain) {
					jc.Sequences["s"] = &proto.Sequence{Name: "retried", Parent: "main", Retry: 1, RetryWait: proto.Duration(time.Hour)}
					jc.Jobs["a"].SequenceID, jc.Jobs["b"].SequenceID = "s", "s"
					c.change(jc)
				}), 1)
				after(time.Minute)
				if item := h.wantEnd(someID, proto.StateFail); item.Reason != c.reason {
					t.Errorf("reason %q, want %q", item.Reason, c.reason)
				}
				e := rm.log[someID][2]
				if e.Try != 2 || !strings.HasSuffix(e.Error, " passed before the try started") || e.FinishedAt != e.StartedAt {
					t.Errorf("entry %+v", e)
				}
			})
		})
	}
}

func TestAStoppedTrySaysSoOnce(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"stopped": "stopped", "stopped: stopped": "stopped", "stopped: stopped: late": "stopped: late", "stopped: by me": "stopped: by me", "x": "x",
	} {
		if got := stoppedMessage(errors.New(text)); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
