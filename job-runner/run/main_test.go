package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

var (
	after     = testkit.After
	errorCode = testkit.ErrorCode
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	someID    = "ci2u6ncq1s7p0ljt3rcg"
	someLease = time.Minute
)

// fakeRM stores reports in memory. The hooks, if set, come first: an error of
// theirs is the answer.
type fakeRM struct {
	beforeReport    func(ctx context.Context, r proto.Report) error
	afterReport     func(r proto.Report) error // stored, but this is the answer
	beforeHeartbeat func(ctx context.Context, r proto.Runner) error
	heartbeatAnswer func(r proto.Runner) proto.HeartbeatAnswer
	refuse          func(item proto.ReportItem) string

	mu          sync.Mutex
	log         map[string][]proto.JobLog
	ends        map[string]proto.ReportItem // the item that ended or suspended the chain
	reports     []proto.Report
	heartbeats  []proto.Runner
	outstanding int
	problems    []string
}

func newFakeRM() *fakeRM {
	return &fakeRM{log: map[string][]proto.JobLog{}, ends: map[string]proto.ReportItem{}}
}

func (f *fakeRM) Report(ctx context.Context, r proto.Report) (proto.ReportAnswer, error) {
	f.mu.Lock()
	f.reports = append(f.reports, r)
	if f.outstanding++; f.outstanding > 1 {
		f.problems = append(f.problems, "two reports are outstanding")
	}
	before, after := f.beforeReport, f.afterReport
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.outstanding--
		f.mu.Unlock()
	}()
	if before != nil {
		if err := before(ctx, r); err != nil {
			return proto.ReportAnswer{}, err
		}
	}
	answer := f.store(r)
	if after != nil {
		if err := after(r); err != nil {
			return proto.ReportAnswer{}, err
		}
	}
	return answer, nil
}

// store keeps the log gapless and each chain ended once, as the real one does.
func (f *fakeRM) store(r proto.Report) proto.ReportAnswer {
	f.mu.Lock()
	defer f.mu.Unlock()
	var answer proto.ReportAnswer
	for _, item := range r.Items {
		why := ""
		if f.refuse != nil {
			why = f.refuse(item)
		}
		if why != "" {
			answer.Refused = append(answer.Refused, proto.Refusal{RequestID: item.RequestID, Epoch: item.Epoch, Message: why})
			continue
		}
		for _, e := range item.Entries {
			log := f.log[item.RequestID]
			switch {
			case e.Seq < uint64(len(log)):
				if old := log[e.Seq]; old.JobID != e.JobID || old.Try != e.Try {
					f.problems = append(f.problems, fmt.Sprintf("entry %d of %s was %s, is %s", e.Seq, item.RequestID, old.JobID, e.JobID))
				}
			case e.Seq > uint64(len(log)):
				f.problems = append(f.problems, fmt.Sprintf("entry %d of %s leaves a gap after %d", e.Seq, item.RequestID, len(log)))
			default:
				f.log[item.RequestID] = append(log, e)
			}
		}
		if item.Final != proto.StateUnknown || item.Suspended != nil {
			f.ends[item.RequestID] = item
		}
	}
	return answer
}

func (f *fakeRM) Heartbeat(ctx context.Context, r proto.Runner) (proto.HeartbeatAnswer, error) {
	f.mu.Lock()
	f.heartbeats = append(f.heartbeats, r)
	before, answer := f.beforeHeartbeat, f.heartbeatAnswer
	f.mu.Unlock()
	if before != nil {
		if err := before(ctx, r); err != nil {
			return proto.HeartbeatAnswer{}, err
		}
	}
	a := proto.HeartbeatAnswer{}
	if answer != nil {
		a = answer(r)
	}
	if a.Lease == 0 {
		a.Lease = proto.Duration(someLease)
	}
	return a, nil
}

// set changes the fake while it is in use.
func (f *fakeRM) set(change func(f *fakeRM)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// states returns the log in short: "a1 COMPLETE, b1 FAIL".
func (f *fakeRM) states(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, e := range f.log[id] {
		out = append(out, fmt.Sprintf("%s%d %s", e.JobID, e.Try, e.State))
	}
	return strings.Join(out, ", ")
}

func (f *fakeRM) end(id string) (proto.ReportItem, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	item, ok := f.ends[id]
	return item, ok
}

func (f *fakeRM) sent() []proto.Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.reports)
}

func (f *fakeRM) beats() []proto.Runner {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.heartbeats)
}

// runFunc is the Run of a job of these tests.
type runFunc func(ctx context.Context, data job.Values) (job.Result, error)

// scripted is a job that does what the test has for its name.
type scripted struct{ jobs map[string]runFunc }

func (s *scripted) Run(ctx context.Context, data job.Values) (job.Result, error) {
	run := s.jobs[job.InfoOf(ctx).Name]
	if run == nil {
		return job.Result{}, nil
	}
	return run(ctx, data)
}

func (s *scripted) Status() string { return "busy with tiger" }

// broken jobs cannot be loaded.
type broken struct{}

func (*broken) Run(context.Context, job.Values) (job.Result, error) { return job.Result{}, nil }

func (*broken) UnmarshalBinary([]byte) error { panic("no such form") }

func registry(jobs map[string]runFunc) *job.Registry {
	r := job.NewRegistry()
	r.Register("scripted", func() job.Job { return &scripted{jobs: jobs} })
	r.Register("broken", func() job.Job { return &broken{} })
	return r
}

// house is a runner that runs, and its fake RM.
type house struct {
	*Runner
	t    *testing.T
	rm   *fakeRM
	stop context.CancelFunc
	over chan error // has the error of Run, once it has ended
}

// start starts a runner in a bubble of virtual time. It is ready when start
// returns, and ended with the test.
func start(t *testing.T, rm *fakeRM, jobs map[string]runFunc, change ...func(*Config)) *house {
	t.Helper()
	cfg := Config{
		Self:     proto.Runner{ID: "jr-1", URL: "http://jr-1"},
		Registry: registry(jobs), RM: rm, Logger: slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&cfg)
	}
	ctx, stop := context.WithCancel(t.Context())
	h := &house{t: t, rm: rm, Runner: New(cfg), stop: stop, over: make(chan error, 1)}
	go func() { h.over <- h.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-h.over
		after(3 * time.Hour) // jobs that were abandoned end, too
		for _, p := range rm.problems {
			t.Error(p)
		}
	})
	synctest.Wait()
	return h
}

func (h *house) start(jc *proto.JobChain, epoch uint64) {
	h.t.Helper()
	if err := h.Start(h.t.Context(), proto.HandOver{Epoch: epoch}, jc); err != nil {
		h.t.Fatalf("start: %v", err)
	}
	synctest.Wait()
}

// wantEnd checks in which state the chain ended, or that it was suspended.
func (h *house) wantEnd(id string, state proto.State) proto.ReportItem {
	h.t.Helper()
	synctest.Wait()
	item, ok := h.rm.end(id)
	got := item.Final
	if item.Suspended != nil {
		got = proto.StateSuspended
	}
	if !ok || got != state {
		h.t.Fatalf("the chain ended %s (%v), want %s; log: %s", got, ok, state, h.rm.states(id))
	}
	return item
}

func (h *house) wantLog(id, want string) {
	h.t.Helper()
	synctest.Wait()
	if got := h.rm.states(id); got != want {
		h.t.Fatalf("log is\n  %s\nwant\n  %s", got, want)
	}
}

// wantHeld checks which chains the runner has.
func (h *house) wantHeld(ids ...string) {
	h.t.Helper()
	synctest.Wait()
	got := []string{}
	for _, c := range h.chains.held() {
		got = append(got, c.RequestID)
	}
	if !slices.Equal(got, append([]string{}, ids...)) {
		h.t.Fatalf("the runner has %v, want %v", got, ids)
	}
}

// chainOf makes a job chain of edges such as "a>b a>c d": each word is a path.
func chainOf(id, edges string, change ...func(jc *proto.JobChain)) *proto.JobChain {
	jc := &proto.JobChain{
		RequestID: id, State: proto.StatePending,
		Jobs: map[string]*proto.Job{}, AdjacencyList: map[string][]string{},
		Sequences: map[string]*proto.Sequence{"main": {Name: "main"}},
	}
	for _, path := range strings.Fields(edges) {
		last := ""
		for _, name := range strings.Split(path, ">") {
			if jc.Jobs[name] == nil {
				jc.Jobs[name] = &proto.Job{
					ID: name, Name: name, Type: "scripted", State: proto.StatePending,
					Args: proto.Values{}, Data: proto.Values{}, SequenceID: "main",
				}
			}
			if last != "" {
				jc.AdjacencyList[last] = append(jc.AdjacencyList[last], name)
			}
			last = name
		}
	}
	for _, c := range change {
		c(jc)
	}
	return jc
}

// takes is a job that takes that long and stops when it is told to.
func takes(d time.Duration) runFunc {
	return func(ctx context.Context, _ job.Values) (job.Result, error) {
		return job.Result{}, wait.For(ctx, d)
	}
}

// deaf is a job that takes that long whatever it is told.
func deaf(d time.Duration) runFunc {
	return func(ctx context.Context, _ job.Values) (job.Result, error) {
		_ = wait.For(context.WithoutCancel(ctx), d)
		return job.Result{}, ctx.Err()
	}
}

var errAway = errors.New("connection refused")
