package run

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// The manager finds fault with a whole report because of one item: the others get
// through all the same.
func TestAnItemThatCannotBeTakenStopsNoOther(t *testing.T) {
	t.Parallel()
	for _, code := range []proto.Code{proto.CodeInvalid, proto.CodeTooLarge, proto.CodeUnprocessable} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rm := newFakeRM()
				release := make(chan struct{})
				rm.beforeReport = func(_ context.Context, r proto.Report) error {
					<-release
					for _, item := range r.Items {
						if item.RequestID == "bad" {
							return proto.Errorf(code, "report: item of %s", item.RequestID)
						}
					}
					return nil
				}
				h := start(t, rm, nil)
				for _, id := range []string{"r0", "r1", "bad", "r2"} { // r0 holds the others up
					h.start(chainOf(id, "a>b"), 1)
				}
				close(release)
				after(time.Second)
				for _, id := range []string{"r0", "r1", "r2"} {
					h.wantEnd(id, proto.StateComplete)
				}
				h.wantLog("bad", "")
				h.wantHeld()
			})
		})
	}
}

func TestErrorsThatMayPassAreTriedAgain(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		errAway,
		context.DeadlineExceeded,
		proto.Errorf(proto.CodeUnavailable, "shutting down"),
		proto.Errorf(proto.CodeInternal, "internal error"),
		proto.Errorf(proto.CodeUnauthorized, "who are you"),
	} {
		t.Run(err.Error(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rm := newFakeRM()
				rm.beforeReport = func(context.Context, proto.Report) error { return err }
				h := start(t, rm, nil)
				h.start(chainOf(someID, "a"), 1)
				after(30 * time.Second)
				h.wantHeld(someID)
				if n := len(rm.sent()); n < 10 || n > 60 {
					t.Errorf("%d tries in 30 s", n)
				}
				rm.set(func(f *fakeRM) { f.beforeReport = nil })
				after(4 * time.Second)
				h.wantEnd(someID, proto.StateComplete)
			})
		})
	}
}

// While more waits to be reported than may, no job starts; all start once it is
// reported, also those of chains in which nothing else happens.
func TestJobsWaitWhileTooMuchIsUnreported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rm := newFakeRM()
		answer := make(chan struct{})
		rm.beforeReport = func(ctx context.Context, _ proto.Report) error {
			select {
			case <-answer:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		var started atomic.Int32
		h := start(t, rm, map[string]runFunc{
			"big": func(context.Context, job.Values) (job.Result, error) {
				return job.Result{Stdout: make([]byte, 2000)}, nil
			},
			"small": func(context.Context, job.Values) (job.Result, error) { started.Add(1); return job.Result{}, nil },
		}, func(c *Config) { c.MaxUnreported = 1000 })
		h.start(chainOf("r1", "big"), 1)
		h.start(chainOf("r2", "small"), 1)
		h.start(chainOf("r3", "small"), 1)
		after(time.Minute)
		if n := started.Load(); n != 0 {
			t.Fatalf("%d jobs started although the reporter is full", n)
		}
		close(answer)
		h.wantEnd("r2", proto.StateComplete)
		h.wantEnd("r3", proto.StateComplete)
	})
}

// The reporter fills up and empties between two looks of anybody: the wake-up must
// come whenever the limit is crossed downwards.
func TestTheWakeUpOfAFullReporterIsNotLost(t *testing.T) {
	t.Parallel()
	var woken atomic.Int32
	p := newReporter(newFakeRM(), func() string { return "jr-1" }, func() {}, 1000, nil)
	p.room = func() { woken.Add(1) }
	entry := func(n int) proto.ReportItem {
		return proto.ReportItem{Entries: []proto.JobLog{{Stdout: strings.Repeat("x", n)}}}
	}
	c1, c2 := &chainRun{id: "r1", wake: make(chan struct{}, 1)}, &chainRun{id: "r2", wake: make(chan struct{}, 1)}
	p.add(c1, entry(600))
	b := p.take()
	if p.full() {
		t.Fatal("full too early")
	}
	p.add(c2, entry(600)) // only now is it full
	if !p.full() {
		t.Fatal("not full")
	}
	p.done(b, proto.ReportAnswer{})
	if woken.Load() != 1 {
		t.Fatalf("%d wake-ups when the reporter was no longer full, want 1", woken.Load())
	}
	p.done(p.take(), proto.ReportAnswer{})
	if woken.Load() != 1 || p.bytes.Load() != 0 {
		t.Errorf("%d wake-ups, %d bytes at the end", woken.Load(), p.bytes.Load())
	}
}

// A job ends after its chain was refused and before the loop knows it.
func TestNothingOfARefusedChainIsTaken(t *testing.T) {
	t.Parallel()
	p := newReporter(newFakeRM(), func() string { return "jr-1" }, func() {}, 1000, nil)
	p.room = func() {}
	c := &chainRun{id: someID, wake: make(chan struct{}, 1)}
	item := proto.ReportItem{Entries: make([]proto.JobLog, 1)}
	p.add(c, item)
	p.done(p.take(), proto.ReportAnswer{Refused: []proto.Refusal{{RequestID: someID}}})
	p.add(c, item)
	if b := p.take(); len(b.chains) != 0 || p.bytes.Load() != 0 {
		t.Errorf("%d items are reported after a refused one", len(b.chains))
	}
	if c.acks.refused == "" || c.acks.end {
		t.Errorf("the loop was told %+v", c.acks)
	}
}

func TestABatchIsBounded(t *testing.T) {
	t.Parallel()
	p := newReporter(newFakeRM(), func() string { return "jr-1" }, func() {}, 1<<30, nil)
	for i := range 1200 {
		p.add(&chainRun{id: "r" + strconv.Itoa(i)}, proto.ReportItem{Entries: make([]proto.JobLog, 1)})
	}
	var sizes []int
	for b := p.take(); len(b.chains) > 0; b = p.take() {
		sizes = append(sizes, len(b.report.Items))
	}
	if len(sizes) != 3 || sizes[0] != maxBatchItems || sizes[2] != 200 {
		t.Errorf("batches of %v items", sizes)
	}
}

func TestEndedChainsAreRemembered(t *testing.T) {
	t.Parallel()
	ring := newHistory(3)
	for i, id := range []string{"r1", "r2", "r1", "r3", "r4"} {
		ring.add(id, uint64(i+1))
	}
	for _, c := range []struct {
		id    string
		epoch uint64
		want  bool
	}{
		{"r2", 2, false}, // forgotten: r4 took its place
		{"r1", 3, true},
		{"r1", 1, true},
		{"r1", 4, false},
		{"r4", 5, true},
		{"r5", 0, false},
	} {
		if got := ring.has(c.id, c.epoch); got != c.want {
			t.Errorf("has(%s, %d) = %v", c.id, c.epoch, got)
		}
	}
	if len(ring.byID) != 3 || ring.order.Len() != 3 {
		t.Errorf("%d remembered, %d in order", len(ring.byID), ring.order.Len())
	}
}

// Whatever comes late and in whatever order: of the last requests the latest epoch is
// known.
func TestEpochsThatAreRememberedOnlyGrow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 4).Draw(t, "size")
		h := newHistory(size)
		latest := map[string]uint64{}
		var order []string // the last one at the end
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			id, epoch := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "id"), rapid.Uint64Range(0, 9).Draw(t, "epoch")
			h.add(id, epoch)
			order = append(slices.DeleteFunc(order, func(other string) bool { return other == id }), id)
			latest[id] = max(latest[id], epoch)
			if len(order) > size {
				delete(latest, order[0])
				order = order[1:]
			}
			for _, id := range order {
				if !h.has(id, latest[id]) || h.has(id, latest[id]+1) {
					t.Fatalf("the epoch of %s is not %d", id, latest[id])
				}
			}
			if len(h.byID) != len(order) || h.order.Len() != len(order) {
				t.Fatalf("%d remembered, want %d", len(h.byID), len(order))
			}
		}
	})
}
