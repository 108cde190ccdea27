package run

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/chain"
	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// a -> b: what b depends on is durable before b starts.
func TestAnEntryIsDurableBeforeTheNextJobStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		answer := make(chan struct{})
		rm.beforeReport = func(context.Context, proto.Report) error { <-answer; return nil }
		var started atomic.Bool
		h := start(t, rm, map[string]runFunc{"b": func(context.Context, job.Values) (job.Result, error) {
			started.Store(true)
			return job.Result{}, nil
		}})
		h.start(chainOf(someID, "a>b"), 1)
		after(10 * time.Second)
		if started.Load() {
			t.Fatal("b started before the entry of a was acknowledged")
		}
		close(answer)
		h.wantEnd(someID, proto.StateComplete)
		h.wantLog(someID, "a1 COMPLETE, b1 COMPLETE")
		if !started.Load() {
			t.Fatal("b never started")
		}
	})
}

// a, b -> c: the entry of a job beside which another runs waits, too.
func TestNothingStartsOnEntriesOfParallelJobsBeforeTheyAreDurable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		answer := make(chan struct{})
		rm.beforeReport = func(context.Context, proto.Report) error { <-answer; return nil }
		tries := atomic.Int32{}
		h := start(t, rm, map[string]runFunc{
			"a": func(context.Context, job.Values) (job.Result, error) {
				if tries.Add(1) == 1 {
					return job.Result{}, errors.New("not yet")
				}
				return job.Result{}, nil
			},
			"b": takes(time.Hour),
		})
		h.start(chainOf(someID, "a>c b>c", func(jc *proto.JobChain) { jc.Jobs["a"].Retry = 1 }), 1)
		after(time.Minute)
		if n := tries.Load(); n != 1 {
			t.Fatalf("a was tried %d times before its first entry was acknowledged", n)
		}
		close(answer)
		after(time.Hour)
		h.wantEnd(someID, proto.StateComplete)
		h.wantLog(someID, "a1 FAIL, a2 COMPLETE, b1 COMPLETE, c1 COMPLETE")
	})
}

// One batch is under way at a time; meanwhile the next gathers, whatever chain it
// is of. The end of a chain travels with its last entry.
func TestReportsGatherWhileOneIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		rm.beforeReport = func(ctx context.Context, _ proto.Report) error { return wait.For(ctx, time.Second) }
		h := start(t, rm, nil)
		ids := []string{"r1", "r2", "r3", "r4", "r5"}
		for _, id := range ids {
			h.start(chainOf(id, "a"), 1)
		}
		after(3 * time.Second)
		for _, id := range ids {
			h.wantEnd(id, proto.StateComplete)
		}
		reports := rm.sent()
		if len(reports) != 2 || len(reports[0].Items) != 1 || len(reports[1].Items) != 4 {
			t.Fatalf("%d reports, want one with the first chain and one with all others: %+v", len(reports), reports)
		}
		for _, item := range append(reports[0].Items, reports[1].Items...) {
			if len(item.Entries) != 1 || item.Final != proto.StateComplete || item.FinishedJobs != 1 {
				t.Errorf("the end does not travel with the last entry: %+v", item)
			}
		}
		h.wantHeld()
	})
}

func TestARefusedChainIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		rm.refuse = func(proto.ReportItem) string { return "the request is RUNNING under epoch 2" }
		var cancelled, next atomic.Bool
		h := start(t, rm, map[string]runFunc{
			"b": func(ctx context.Context, _ job.Values) (job.Result, error) {
				err := wait.For(ctx, time.Hour)
				cancelled.Store(err != nil)
				return job.Result{}, err
			},
			"c": func(context.Context, job.Values) (job.Result, error) {
				next.Store(true)
				return job.Result{}, nil
			},
		})
		h.start(chainOf(someID, "a>c b"), 1)
		after(time.Second)
		if !cancelled.Load() {
			t.Error("b runs on although its chain is somebody else's")
		}
		if next.Load() {
			t.Error("c started although its chain is somebody else's")
		}
		h.wantHeld()
		if n := len(rm.sent()); n != 1 {
			t.Errorf("%d reports, want that of a only", n)
		}
	})
}

// The entry of a is refused while that of b waits: b's would leave a gap.
func TestNothingIsReportedAfterARefusedEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		rm.beforeReport = func(ctx context.Context, _ proto.Report) error { return wait.For(ctx, time.Second) }
		rm.refuse = func(item proto.ReportItem) string {
			if len(item.Entries) > 0 && item.Entries[0].JobID == "a" {
				return "the database cannot hold it"
			}
			return ""
		}
		h := start(t, rm, map[string]runFunc{"b": takes(500 * time.Millisecond)})
		h.start(chainOf(someID, "a b"), 1)
		h.start(chainOf("other", "x"), 1)
		after(5 * time.Second)
		h.wantLog(someID, "")
		h.wantEnd("other", proto.StateComplete)
		h.wantHeld()
		if n := h.env.reporter.bytes.Load(); n != 0 {
			t.Errorf("%d bytes count as unreported, but nothing waits", n)
		}
	})
}

func TestWhatOneReportCannotCarryGoesInSeveral(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		rm.beforeReport = func(ctx context.Context, _ proto.Report) error { return wait.For(ctx, time.Second) }
		jobs := map[string]runFunc{}
		var edges strings.Builder
		for _, name := range strings.Split("abcdefghijklmnop", "") {
			edges.WriteString(" " + name)
			jobs[name] = func(context.Context, job.Values) (job.Result, error) {
				return job.Result{Stdout: make([]byte, 1<<20)}, nil
			}
		}
		h := start(t, rm, jobs)
		h.start(chainOf(someID, edges.String()), 1)
		after(20 * time.Second)
		h.wantEnd(someID, proto.StateComplete)
		for i, r := range rm.sent() {
			if n := entriesSize(r.Items[0].Entries); n > maxBatchBytes+2<<20 {
				t.Errorf("report %d has %d bytes of entries", i, n)
			}
			if final := r.Items[0].Final; (final != proto.StateUnknown) != (i == len(rm.sent())-1) {
				t.Errorf("report %d of %d says that the chain is %s", i, len(rm.sent()), final)
			}
		}
		h.wantHeld()
	})
}

func TestTheSameHandOverTwiceIsOneRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		h := start(t, newFakeRM(), map[string]runFunc{"a": func(ctx context.Context, _ job.Values) (job.Result, error) {
			runs.Add(1)
			return job.Result{}, wait.For(ctx, time.Minute)
		}})
		h.start(chainOf(someID, "a"), 3)
		h.start(chainOf(someID, "a"), 3)
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 2}, chainOf(someID, "a")), proto.CodeConflict) // an old one that comes late
		after(time.Minute)
		h.wantEnd(someID, proto.StateComplete)
		h.start(chainOf(someID, "a"), 3) // also after it ended
		h.wantHeld()
		if n := runs.Load(); n != 1 {
			t.Fatalf("a ran %d times", n)
		}
	})
}

// A big chain takes its time to be built, and the manager asks again meanwhile. A
// refusal would tell it that the chain is not here.
func TestTheSameHandOverTwiceAtOnceIsTakenTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		h := start(t, newFakeRM(), map[string]runFunc{"a": func(ctx context.Context, _ job.Values) (job.Result, error) {
			runs.Add(1)
			return job.Result{}, wait.For(ctx, time.Minute)
		}}, func(c *Config) { c.Self.Capacity = 1 })
		err := h.accept(t.Context(), someID, proto.HandOver{Epoch: 1}, func() (*chain.Chain, error) {
			h.start(chainOf(someID, "a"), 1) // overtakes the one that is being built
			return chain.New(chainOf(someID, "a"))
		}, nil)
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		synctest.Wait()
		if n := runs.Load(); n != 1 {
			t.Fatalf("a ran %d times", n)
		}
	})
}

func TestAHigherEpochReplacesTheChain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, peak atomic.Int32
		h := start(t, newFakeRM(), map[string]runFunc{"a": func(ctx context.Context, _ job.Values) (job.Result, error) {
			if n := running.Add(1); n > peak.Load() {
				peak.Store(n)
			}
			defer running.Add(-1)
			err := wait.For(ctx, time.Minute)
			_ = wait.For(context.WithoutCancel(ctx), time.Second) // it takes a while to stop
			return job.Result{}, err
		}})
		h.start(chainOf(someID, "a"), 1)
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 2}, chainOf(someID, "a")), proto.CodeUnavailable)
		after(2 * time.Second)
		// What was refused once is refused for good: its manager has gone on.
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 2}, chainOf(someID, "a")), proto.CodeUnavailable)
		// A delivery that comes late, of an earlier epoch, does not make it forget that.
		_ = h.Start(t.Context(), proto.HandOver{Epoch: 1}, chainOf(someID, "a"))
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 2}, chainOf(someID, "a")), proto.CodeUnavailable)
		h.start(chainOf(someID, "a"), 3)
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 1}, chainOf("x", "a>b b>a")), proto.CodeInvalid)
		after(2 * time.Minute)
		if item := h.wantEnd(someID, proto.StateComplete); item.Epoch != 3 {
			t.Errorf("the end is of epoch %d", item.Epoch)
		}
		h.wantLog(someID, "a1 COMPLETE")
		if peak.Load() != 1 {
			t.Errorf("%d tries of a ran at a time", peak.Load())
		}
	})
}

func TestCapacityIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := start(t, newFakeRM(), map[string]runFunc{"a": takes(time.Minute)}, func(c *Config) { c.Self.Capacity = 2 })
		h.start(chainOf("r1", "a"), 1)
		h.start(chainOf("r2", "a"), 1)
		errorCode(t, h.Start(t.Context(), proto.HandOver{Epoch: 1}, chainOf("r3", "a")), proto.CodeUnavailable)
		h.start(chainOf("r2", "a"), 1) // is here already
		after(time.Minute)
		h.start(chainOf("r3", "a"), 2)
		h.wantHeld("r3")
	})
}

func TestRunningIsOldestFirstWithStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := start(t, newFakeRM(), map[string]runFunc{"a": takes(time.Hour), "b": takes(time.Hour)})
		h.start(chainOf("r2", "a", func(jc *proto.JobChain) { jc.Secrets = []string{"tiger"} }), 1)
		after(time.Second)
		h.start(chainOf("r1", "b a"), 1)
		var got []string
		for _, s := range h.Running() {
			got = append(got, s.RequestID+s.JobID+" "+s.Status)
			if s.State != proto.StateRunning || s.Try != 1 || s.Type != "scripted" || s.StartedAt == 0 {
				t.Errorf("status %+v", s)
			}
		}
		want := "r2a busy with ******, r1a busy with tiger, r1b busy with tiger"
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("running:\n  %s\nwant\n  %s", s, want)
		}
	})
}

func TestRunningMayBeAskedAllTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := start(t, newFakeRM(), nil)
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			for range 2000 {
				h.Running()
				runtime.Gosched()
			}
		}()
		for _, id := range []string{"r1", "r2", "r3"} {
			if err := h.Start(t.Context(), proto.HandOver{Epoch: 1}, chainOf(id, "a>b>c>d>e>f x>y>z")); err != nil {
				t.Error(err)
			}
		}
		<-asked
		h.wantEnd("r3", proto.StateComplete)
	})
}
