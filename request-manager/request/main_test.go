package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

var (
	after     = testkit.After
	must      = testkit.Must
	errorCode = testkit.ErrorCode
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

// specText has the requests of these tests.
const specText = `
sequences:
  deploy:
    request: true
    args:
      optional: [{name: host, default: web1}]
    nodes:
      first: {category: job, type: noop, args: [{expected: host}]}
      second: {category: job, type: noop, deps: [first]}
  login:
    request: true
    args:
      required: [{name: user}, {name: password, secret: true}]
    nodes:
      ask: {category: job, type: noop, args: [{expected: user}, {expected: password}]}
  rollout:
    request: true
    nodes:
      both: {category: sequence, type: steps, retry: 1}
  steps:
    nodes:
      first: {category: job, type: noop}
      second: {category: job, type: noop, deps: [first]}
      third: {category: job, type: noop, deps: [second]}
  charge:
    request: true
    nodes:
      prepare: {category: job, type: noop}
      pay: {category: job, type: noop, deps: [prepare], idempotent: false}
`

type noop struct{}

func (noop) Create(context.Context, job.Values) error { return nil }

func (noop) Run(context.Context, job.Values) (job.Result, error) { return job.Result{}, nil }

func specs(t *testing.T) *grapher.Specs {
	t.Helper()
	r := job.NewRegistry()
	r.Register("noop", func() job.Job { return &noop{} })
	s, problems := grapher.Parse(map[string][]byte{"specs.yaml": []byte(specText)}, grapher.Options{Registry: r})
	if s == nil {
		t.Fatal(problems)
	}
	return s
}

// sending is a chain that was sent to a runner.
type sending struct {
	url, id string
	epoch   uint64
	resume  bool
	body    []byte
}

func (s sending) String() string {
	verb := "start"
	if s.resume {
		verb = "resume"
	}
	return fmt.Sprintf("%s at %s epoch %d", verb, s.url, s.epoch)
}

// world is a database in virtual time with managers and fake runners around it.
type world struct {
	t     *testing.T
	store *store.Store
	specs *grapher.Specs
	key   []byte
	// answer, if set, is what the runner at a URL answers to a chain.
	answer func(ctx context.Context, s sending) error
	// stopAnswer and runningAnswer are what it answers to these calls.
	stopAnswer    func(ctx context.Context, url string) error
	runningAnswer func(ctx context.Context, url string) ([]proto.JobStatus, error)

	mu      sync.Mutex
	sent    []sending
	stopped []string
	fakes   map[string]*fakeRunner // by URL
}

// fakeRunner is a runner that beats, and has what was sent to it and accepted.
type fakeRunner struct {
	self proto.Runner
	w    *world
	m    *Manager
	stop context.CancelFunc
	done chan struct{}
	has  map[string]uint64

	answers []proto.HeartbeatAnswer
}

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, specs: specs(t), key: []byte("0123456789abcdef0123456789abcdef"), fakes: map[string]*fakeRunner{}}
		db, err := database.Open(t.Context(), database.Config{
			SQLitePath: filepath.Join(t.TempDir(), "treadle.db"), SecretsKey: w.key,
		})
		must(t, err)
		t.Cleanup(func() { must(t, db.Close()) })
		must(t, db.Migrate(t.Context()))
		w.store = store.New(db)
		test(w)
	})
}

// manager makes a manager that does not run.
func (w *world) manager(change ...func(*Config)) *Manager {
	cfg := Config{Store: w.store, Specs: w.specs, Runners: w, Logger: slog.New(slog.DiscardHandler), ManagerID: "rm-1"}
	for _, c := range change {
		c(&cfg)
	}
	return New(cfg)
}

// run runs a manager until the test or the function that it returns ends it.
func (w *world) run(m *Manager) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	w.t.Cleanup(stop)
	synctest.Wait()
	return stop
}

// runner registers a runner and has it beat, to the manager, until it is killed.
func (w *world) runner(m *Manager, id, url string, change ...func(*proto.Runner)) *fakeRunner {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	r := &fakeRunner{
		w: w, m: m, stop: cancel, done: make(chan struct{}), has: map[string]uint64{},
		self: proto.Runner{ID: id, URL: url, Host: id, PID: 7},
	}
	for _, c := range change {
		c(&r.self)
	}
	w.mu.Lock()
	w.fakes[url] = r
	w.mu.Unlock()
	r.beat()
	go func() {
		defer close(r.done)
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.beat()
			case <-ctx.Done():
				return
			}
		}
	}()
	w.t.Cleanup(r.kill)
	synctest.Wait()
	return r
}

func (r *fakeRunner) kill() {
	r.stop()
	<-r.done
}

func (r *fakeRunner) beat() {
	r.w.mu.Lock()
	self := r.self
	self.Running = nil
	for id, epoch := range r.has {
		self.Running = append(self.Running, proto.RunningChain{RequestID: id, Epoch: epoch})
	}
	r.w.mu.Unlock()
	a, err := r.m.Heartbeat(context.WithoutCancel(r.w.t.Context()), self)
	if proto.ErrorCode(err) == proto.CodeConflict && err != nil {
		// It was declared dead: it drops all it has and comes back as another one.
		r.w.mu.Lock()
		defer r.w.mu.Unlock()
		r.self.ID += ".1"
		clear(r.has)
		return
	}
	if err != nil {
		r.w.t.Errorf("heartbeat: %v", err)
	}
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	for _, d := range a.Drop {
		delete(r.has, d.RequestID)
	}
	r.answers = append(r.answers, a)
}

// rest returns the entries that are missing in the log of a request to its end, all of
// tries that went well.
func (w *world) rest(id string) (entries []proto.JobLog) {
	w.t.Helper()
	c, _, err := replay(w.t.Context(), w.store, id)
	must(w.t, err)
	for starts := c.Next(time.Now()); len(starts) > 0; starts = c.Next(time.Now()) {
		for _, s := range starts {
			e := proto.JobLog{
				RequestID: id, JobID: s.Job.ID, Name: s.Job.Name, Type: s.Job.Type, Try: s.Try, Run: s.Run, Seq: c.Entries(),
				State: proto.StateComplete, StartedAt: time.Now().UnixNano(), FinishedAt: time.Now().UnixNano(),
			}
			must(w.t, c.Apply(&e))
			entries = append(entries, e)
		}
	}
	return entries
}

func (r *fakeRunner) lastAnswer() proto.HeartbeatAnswer {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	return r.answers[len(r.answers)-1]
}

// report sends news of a chain that the runner has; an end takes it away.
func (r *fakeRunner) report(id string, final proto.State, entries ...proto.JobLog) {
	r.w.t.Helper()
	r.w.mu.Lock()
	epoch := r.has[id]
	if final != proto.StateUnknown {
		delete(r.has, id)
	}
	r.w.mu.Unlock()
	if final == proto.StateComplete && len(entries) == 0 {
		entries = r.w.rest(id)
	}
	a, err := r.m.Report(r.w.t.Context(), proto.Report{RunnerID: r.self.ID, Items: []proto.ReportItem{{
		RequestID: id, Epoch: epoch, Final: final, Entries: entries, FinishedJobs: uint(len(entries)),
	}}})
	must(r.w.t, err)
	if len(a.Refused) > 0 {
		r.w.t.Fatalf("refused: %+v", a.Refused)
	}
}

func (w *world) StartChain(ctx context.Context, to proto.Runner, id string, epoch uint64, body []byte) error {
	return w.take(ctx, sending{url: to.URL, id: id, epoch: epoch, body: body})
}

func (w *world) ResumeChain(ctx context.Context, to proto.Runner, id string, epoch uint64, body []byte) error {
	return w.take(ctx, sending{url: to.URL, id: id, epoch: epoch, resume: true, body: body})
}

func (w *world) take(ctx context.Context, s sending) error {
	w.mu.Lock()
	w.sent = append(w.sent, s)
	answer := w.answer
	w.mu.Unlock()
	if answer != nil {
		if err := answer(ctx, s); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.fakes[s.url]; r != nil {
		r.has[s.id] = s.epoch
	}
	return nil
}

func (w *world) StopChain(ctx context.Context, url, id string) error {
	w.mu.Lock()
	w.stopped = append(w.stopped, url+" "+id)
	answer := w.stopAnswer
	w.mu.Unlock()
	if answer != nil {
		return answer(ctx, url)
	}
	return nil
}

// Identify answers as the runner that was started last at the URL.
func (w *world) Identify(_ context.Context, url string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.fakes[url]
	if r == nil {
		return "", proto.Errorf(proto.CodeUnavailable, "nobody is at %s", url)
	}
	return r.self.ID, nil
}

func (w *world) Running(ctx context.Context, url string) ([]proto.JobStatus, error) {
	return w.runningAnswer(ctx, url)
}

// answers changes how runners answer from now on.
func (w *world) answers(f func(ctx context.Context, s sending) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = f
}

// sendings returns what was sent of a request, "" for of all.
func (w *world) sendings(id string) []sending {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []sending
	for _, s := range w.sent {
		if id == "" || s.id == id {
			out = append(out, s)
		}
	}
	return out
}

func (w *world) wantSent(id string, want ...string) {
	w.t.Helper()
	got := []string{}
	for _, s := range w.sendings(id) {
		got = append(got, s.String())
	}
	if !slices.Equal(got, append([]string{}, want...)) {
		w.t.Fatalf("sent:\n  %q\nwant\n  %q", got, want)
	}
}

func (w *world) create(m *Manager, requestType string) string {
	w.t.Helper()
	args := proto.Values{}
	if requestType == "login" {
		args = proto.Values{"user": "ann", "password": "hunter2"}
	}
	r, err := m.Create(w.t.Context(), proto.CreateRequest{Type: requestType, Args: args}, "ann", "")
	must(w.t, err)
	return r.ID
}

// want checks the state of a request, and what is always so in that state.
func (w *world) want(id string, state proto.State) proto.Request {
	w.t.Helper()
	r, err := w.store.Request(w.t.Context(), id)
	must(w.t, err)
	if r.State != state {
		w.t.Fatalf("request is %s (%s), want %s; sent: %v", r.State, r.Reason, state, w.sendings(id))
	}
	if (r.FinishedAt != nil) != state.Final() {
		w.t.Errorf("%s request has finish time %v", state, r.FinishedAt)
	}
	return r
}

// entry is the entry of a job of a request that went well, by the job's name.
func (w *world) entry(id, name string, seq uint64) proto.JobLog {
	w.t.Helper()
	body, err := w.store.Chain(w.t.Context(), id)
	must(w.t, err)
	var jc proto.JobChain
	must(w.t, json.Unmarshal(body, &jc))
	for _, j := range jc.Jobs {
		if j.Name == name {
			now := time.Now().UnixNano()
			return proto.JobLog{RequestID: id, JobID: j.ID, Name: name, Type: j.Type, Seq: seq, Try: 1,
				State: proto.StateComplete, StartedAt: now, FinishedAt: now}
		}
	}
	w.t.Fatalf("no job %s", name)
	return proto.JobLog{}
}

// Answers of runners.
var (
	errFull     = proto.Errorf(proto.CodeUnavailable, "this runner is full")
	errNoAnswer = &proto.Error{Code: proto.CodeUnavailable, Message: "cannot reach the job runner", Err: errors.New("connection reset")}
	errNobody   = &proto.Error{Code: proto.CodeUnavailable, Message: "cannot reach the job runner",
		Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}
)

// hang is a runner that does not answer.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return &proto.Error{Code: proto.CodeUnavailable, Message: "did not answer in time", Err: ctx.Err()}
}
