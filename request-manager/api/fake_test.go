package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/proto"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// someID is the id of the one request that fakeManager has.
const someID = "ci2u6ncq1s7p0ljt3rcg"

var (
	created = time.Date(2026, 1, 2, 3, 4, 5, 678900000, time.UTC)
	started = created.Add(time.Second)
)

// someRequest is a request that runs.
func someRequest() proto.Request {
	return proto.Request{
		ID: someID, Type: "deploy", State: proto.StateRunning, User: "ann",
		Args:      []proto.RequestArg{{Pos: 0, Name: "host", Desc: "where", Type: proto.ArgRequired, Given: true, Value: "a1"}},
		CreatedAt: created, StartedAt: &started, TotalJobs: 2, FinishedJobs: 1, JobRunnerURL: "http://10.0.0.7:32307", Epoch: 3,
	}
}

func someChain() *proto.JobChain {
	return &proto.JobChain{
		RequestID: someID,
		Jobs: map[string]*proto.Job{
			"a": {ID: "a", Name: "first", Type: "noop", State: proto.StateComplete, Args: proto.Values{"host": "a1"}, Retry: 2, RetryWait: proto.Duration(3 * time.Second), SequenceID: "a"},
		},
		AdjacencyList: map[string][]string{}, State: proto.StateRunning, FinishedJobs: 1,
		Secrets: []string{"tiger"},
	}
}

func someEntry() proto.JobLog {
	return proto.JobLog{
		RequestID: someID, JobID: "a", Try: 2, Name: "first", Type: "noop", StartedAt: 1767323045000000001, FinishedAt: 1767323046000000002,
		State: proto.StateFail, Exit: 7, Error: "no", Stdout: "out", Stderr: "err", Seq: 4,
	}
}

// fakeManager answers from fixtures and notes what it was called with. err, if set,
// is the answer to everything.
type fakeManager struct {
	err    error
	panics bool

	mu    sync.Mutex
	calls []any // the args of the last call
}

func (f *fakeManager) services() Services {
	return Services{
		Requests: f, Reader: f, Logs: f, Reports: f, Runners: f,
		Watcher: &watched{state: proto.StateRunning, changed: make(chan struct{})},
	}
}

func (f *fakeManager) note(args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = args
	if f.panics {
		panic("the fake panics")
	}
	return f.err
}

// last returns the args of the last call.
func (f *fakeManager) last() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func known(id string) error {
	if id != someID {
		return proto.Errorf(proto.CodeNotFound, "no request with that id").ForRequest(id)
	}
	return nil
}

func (f *fakeManager) Create(_ context.Context, c proto.CreateRequest, user, key string) (proto.Request, error) {
	r := someRequest()
	r.State, r.StartedAt, r.JobRunnerURL, r.FinishedJobs = proto.StatePending, nil, "", 0
	r.JobChain = someChain()
	return r, f.note(c, user, key)
}

func (f *fakeManager) Get(_ context.Context, id string) (proto.Request, error) {
	if err := f.note(id); err != nil {
		return proto.Request{}, err
	}
	return someRequest(), known(id)
}

func (f *fakeManager) GetWithJC(ctx context.Context, id string) (proto.Request, error) {
	r, err := f.Get(ctx, id)
	r.JobChain = someChain()
	return r, err
}

func (f *fakeManager) JobChain(_ context.Context, id string) (*proto.JobChain, error) {
	if err := f.note(id); err != nil {
		return nil, err
	}
	return someChain(), known(id)
}

func (f *fakeManager) Start(_ context.Context, id string) error { return f.note("start", id) }
func (f *fakeManager) Stop(_ context.Context, id string) error  { return f.note("stop", id) }

func (f *fakeManager) Find(_ context.Context, filter proto.RequestFilter) ([]proto.Request, error) {
	if err := f.note(filter); err != nil || filter.Type == "nothing" {
		return nil, err
	}
	r := someRequest()
	r.JobChain = someChain()
	return []proto.Request{r}, nil
}

func (f *fakeManager) Specs() []proto.RequestSpec {
	_ = f.note()
	return []proto.RequestSpec{
		{Name: "bare"},
		{Name: "deploy", Args: []proto.RequestArg{{Pos: 1, Name: "n", Desc: "how many", Type: proto.ArgOptional, Default: int64(3)}}},
	}
}

func (f *fakeManager) Log(_ context.Context, id string) ([]proto.JobLog, error) {
	if err := f.note(id); err != nil {
		return nil, err
	}
	return []proto.JobLog{someEntry()}, known(id)
}

func (f *fakeManager) LastLog(_ context.Context, id, jobID string) (proto.JobLog, error) {
	if err := f.note(id, jobID); err != nil {
		return proto.JobLog{}, err
	}
	return someEntry(), known(id)
}

func (f *fakeManager) Running(_ context.Context, id, orderBy string) (proto.RunningStatus, error) {
	if err := f.note(id, orderBy); err != nil || id == "" {
		return proto.RunningStatus{}, err
	}
	return proto.RunningStatus{
		Jobs:     []proto.JobStatus{{RequestID: someID, JobID: "a", Type: "noop", Name: "first", StartedAt: 1767323045000000001, State: proto.StateRunning, Status: "half", Try: 1}},
		Requests: map[string]proto.Request{someID: someRequest()},
	}, nil
}

func (f *fakeManager) Finish(_ context.Context, epoch uint64, x proto.Finish) error {
	return f.note(epoch, x)
}

func (f *fakeManager) Progress(_ context.Context, epoch uint64, x proto.Progress) error {
	return f.note(epoch, x)
}

func (f *fakeManager) AddLog(_ context.Context, epoch uint64, x proto.JobLog) error {
	return f.note(epoch, x)
}

func (f *fakeManager) SuspendReport(_ context.Context, epoch uint64, x *proto.SuspendedJobChain) error {
	return f.note(epoch, x)
}

func (f *fakeManager) Report(_ context.Context, r proto.Report) (proto.ReportAnswer, error) {
	return proto.ReportAnswer{Refused: []proto.Refusal{{RequestID: someID, Epoch: 2, Message: "old"}}}, f.note(r)
}

func (f *fakeManager) Heartbeat(_ context.Context, r proto.Runner) (proto.HeartbeatAnswer, error) {
	return proto.HeartbeatAnswer{Lease: proto.Duration(time.Minute), Drain: true}, f.note(r)
}

func (f *fakeManager) Runners(context.Context) ([]proto.Runner, error) {
	return []proto.Runner{{ID: "r1", URL: "http://10.0.0.7:32307", Host: "h", PID: 7, Version: "v1", Capacity: 5, StartedAt: created, HeartbeatAt: started}}, f.note()
}

func (f *fakeManager) Drain(_ context.Context, runner string, drain bool) error {
	return f.note(runner, drain)
}

func (f *fakeManager) Ready(context.Context) error { return f.note() }

func quiet(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

// fake is a fake of some of the services.
type fake interface{ services() Services }

// call sends one call to the API over the fake. Headers are "Name: value".
func call(t *testing.T, cfg Config, f fake, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	New(cfg, f.services(), quiet(t)).ServeHTTP(w, r)
	return w
}

// serve runs the API on a port of its own until the test ends.
func serve(t *testing.T, cfg Config, f fake) string {
	t.Helper()
	s := httptest.NewServer(New(cfg, f.services(), quiet(t)))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s.URL
}
