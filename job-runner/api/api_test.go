package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/job-runner/client"
	"github.com/treadle-run/treadle/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	someID    = "ci2u6ncq1s7p0ljt3rcg"
	chainJSON = `{"requestId":"` + someID + `","jobs":{"a":{"id":"a","name":"first","type":"noop","state":1,"args":{"n":3},"data":{},"retry":2,"retryWait":"3s","sequenceId":"a"}},` +
		`"adjacencyList":{},"state":1,"finishedJobs":0,"secrets":["tiger"]}`
	sjcJSON = `{"requestId":"` + someID + `","jobChain":` + chainJSON + `,"totalJobTries":{"a":2},"latestRunJobTries":{"a":1},"sequenceTries":{},"entries":2}`
	epoch   = "Treadle-Epoch: 7"
)

func someChain() *proto.JobChain {
	return &proto.JobChain{
		RequestID: someID,
		Jobs: map[string]*proto.Job{"a": {
			ID: "a", Name: "first", Type: "noop", State: proto.StatePending, Args: proto.Values{"n": int64(3)}, Data: proto.Values{},
			Retry: 2, RetryWait: proto.Duration(3 * time.Second), SequenceID: "a",
		}},
		AdjacencyList: map[string][]string{}, State: proto.StatePending, Secrets: []string{"tiger"},
	}
}

func someSuspended() *proto.SuspendedJobChain {
	return &proto.SuspendedJobChain{
		RequestID: someID, JobChain: someChain(), TotalJobTries: map[string]uint{"a": 2}, LatestRunJobTries: map[string]uint{"a": 1},
		SequenceTries: map[string]uint{}, Entries: 2,
	}
}

var someStatus = proto.JobStatus{RequestID: someID, JobID: "a", Type: "noop", Name: "first", StartedAt: 1767323045000000001, State: proto.StateRunning, Try: 1}

// fakeRunner notes what it was called with. err, if set, is the answer.
type fakeRunner struct {
	err     error
	running []proto.JobStatus

	mu    sync.Mutex
	calls []any
}

func (f *fakeRunner) note(args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = args
	return f.err
}

func (f *fakeRunner) last() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *fakeRunner) Start(_ context.Context, h proto.HandOver, jc *proto.JobChain) error {
	return f.note("start", h, jc)
}

func (f *fakeRunner) Resume(_ context.Context, h proto.HandOver, sjc *proto.SuspendedJobChain) error {
	return f.note("resume", h, sjc)
}

func (f *fakeRunner) Stop(_ context.Context, id string) error { return f.note("stop", id) }
func (f *fakeRunner) Running() []proto.JobStatus              { _ = f.note("running"); return f.running }
func (f *fakeRunner) ID() string                              { return "r1" }
func (f *fakeRunner) Ready(context.Context) error             { return f.note("ready") }

func quiet(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

func call(t *testing.T, cfg Config, r Runner, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	New(cfg, r, quiet(t)).ServeHTTP(w, req)
	return w
}

// TestAnswers holds every route to its answer, byte for byte.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const location = "http://jr7:32307/api/v1/job-chains/" + someID
	for _, tc := range []struct {
		method, path, body string
		answer, location   string
		args               []any
	}{
		{"POST", "/api/v1/job-chains", chainJSON, "", location, []any{"start", proto.HandOver{Epoch: 7}, someChain()}},
		{"POST", "/api/v1/job-chains/resume", sjcJSON, "", location, []any{"resume", proto.HandOver{Epoch: 7}, someSuspended()}},
		{"PUT", "/api/v1/job-chains/" + someID + "/stop", "", "", "", []any{"stop", someID}},
		{"GET", "/api/v1/runner", "", `{"id":"r1"}`, "", nil},
		{"GET", "/api/v1/status/running", "", `[{"requestId":"` + someID + `","jobId":"a","type":"noop","name":"first","startedAt":1767323045000000001,"state":2,"try":1}]`, "", []any{"running"}},
		{"GET", "/readyz", "", `{"status":"ready"}`, "", []any{"ready"}},
		{"GET", "/healthz", "", `{"status":"ok"}`, "", nil},
		{"GET", "/version", "", `{"version":"v9"}`, "", nil},
	} {
		t.Run(tc.path, func(t *testing.T) {
			t.Parallel()
			r := &fakeRunner{running: []proto.JobStatus{someStatus}}
			w := call(t, Config{Version: "v9", BaseURL: "http://jr7:32307/"}, r, tc.method, tc.path, tc.body, epoch)
			if w.Code != 200 || strings.TrimSpace(w.Body.String()) != tc.answer || w.Header().Get("Location") != tc.location {
				t.Errorf("got %d %s, Location %q", w.Code, w.Body, w.Header().Get("Location"))
			}
			if diff := cmp.Diff(tc.args, r.last()); diff != "" {
				t.Errorf("the runner got (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingRunsIsAnEmptyList(t *testing.T) {
	t.Parallel()
	if w := call(t, Config{}, &fakeRunner{}, "GET", "/api/v1/status/running", ""); w.Body.String() != "[]\n" {
		t.Errorf("got %s", w.Body)
	}
}

func TestLocationWithoutABaseURLIsAsTheCallerCame(t *testing.T) {
	t.Parallel()
	w := call(t, Config{}, &fakeRunner{}, "POST", "/api/v1/job-chains", chainJSON, epoch)
	if got := w.Header().Get("Location"); got != "http://localhost/api/v1/job-chains/"+someID {
		t.Errorf("got %q", got)
	}
}

// TestBadInput sends what no runner may take. None of it reaches the runner.
func TestBadInput(t *testing.T) {
	t.Parallel()
	const noEpoch = "header Treadle-Epoch is missing: expected the epoch of the chain"
	for _, tc := range []struct {
		name, method, path, body string
		header                   string
		status                   int
		message                  string
	}{
		{"no epoch", "POST", "/api/v1/job-chains", chainJSON, "", 400, noEpoch},
		{"no epoch to resume", "POST", "/api/v1/job-chains/resume", sjcJSON, "", 400, noEpoch},
		{"epoch is no number", "POST", "/api/v1/job-chains", chainJSON, "Treadle-Epoch: x", 400, `header Treadle-Epoch: expected a whole number of at most 63 bits, got "x"`},
		{"empty", "POST", "/api/v1/job-chains", "", epoch, 400, "the body is empty: expected a JSON object"},
		{"cut", "POST", "/api/v1/job-chains", chainJSON[:40], epoch, 400, "malformed JSON: the body ends in the middle, after 40 bytes"},
		{"no id", "POST", "/api/v1/job-chains", `{"jobs":{}}`, epoch, 400, `requestId: expected 20 characters of 0-9 and a-v, got ""`},
		{"null job", "POST", "/api/v1/job-chains", `{"requestId":"` + someID + `","jobs":{"a":null}}`, epoch, 400, `jobs: "a" is null`},
		{"null sequence", "POST", "/api/v1/job-chains", `{"requestId":"` + someID + `","sequences":{"a":null}}`, epoch, 400, `sequences: "a" is null`},
		{"no chain", "POST", "/api/v1/job-chains/resume", `{"requestId":"` + someID + `"}`, epoch, 400, "jobChain is missing"},
		{"two ids", "POST", "/api/v1/job-chains/resume", `{"requestId":"x","jobChain":` + chainJSON + `}`, epoch, 400, `requestId: "x", but the chain is of "` + someID + `"`},
		{"too large", "POST", "/api/v1/job-chains", strings.Repeat(" ", 1<<10) + chainJSON, epoch, 413, "the body is larger than 1 KiB"},
		{"odd id", "PUT", "/api/v1/job-chains/..%2fx/stop", "", "", 404, "no request with that id"},
		{"no path", "GET", "/api/v1/job-chains", "", "", 405, "GET is not allowed here, only OPTIONS, POST"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := &fakeRunner{}
			w := call(t, Config{BodyLimit: 1 << 10}, r, tc.method, tc.path, tc.body, tc.header)
			var b proto.ErrorBody
			if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil {
				t.Fatalf("answer %q: %v", w.Body, err)
			}
			if w.Code != tc.status || b.HTTPStatus != tc.status || b.Message != tc.message {
				t.Errorf("got %d %+v\nwant %d %q", w.Code, b, tc.status, tc.message)
			}
			if r.last() != nil {
				t.Errorf("the runner was called with %v", r.last())
			}
		})
	}
}

func TestCallersMustKnowTheSecret(t *testing.T) {
	t.Parallel()
	for path, guarded := range map[string]bool{
		"POST /api/v1/job-chains": true, "POST /api/v1/job-chains/resume": true, "PUT /api/v1/job-chains/" + someID + "/stop": true,
		"GET /api/v1/status/running": true, "GET /metrics": true,
		"GET /healthz": false, "GET /readyz": false, "GET /version": false,
	} {
		method, path, _ := strings.Cut(path, " ")
		r := &fakeRunner{}
		if w := call(t, Config{Secret: "s3"}, r, method, path, chainJSON, epoch); (w.Code == 401) != guarded {
			t.Errorf("%s %s without the secret: %d", method, path, w.Code)
		}
		if guarded && r.last() != nil {
			t.Errorf("%s %s reached the runner", method, path)
		}
		if w := call(t, Config{Secret: "s3"}, r, method, path, chainJSON, epoch, "Authorization: Treadle s3"); w.Code == 401 {
			t.Errorf("%s %s with the secret: 401", method, path)
		}
	}
}

// TestClient goes through each call of a Request Manager.
func TestClient(t *testing.T) {
	t.Parallel()
	r := &fakeRunner{running: []proto.JobStatus{someStatus}}
	s := httptest.NewServer(New(Config{Secret: "s3"}, r, quiet(t)))
	defer s.Close()
	c := client.New(client.Config{Secret: "s3"})
	defer c.Close()
	ctx := t.Context()
	to := proto.Runner{ID: "jr-1", URL: s.URL}
	for name, tc := range map[string]struct {
		do   func() error
		args []any
	}{
		"start":  {func() error { return c.StartChain(ctx, to, someID, 9, []byte(chainJSON)) }, []any{"start", proto.HandOver{RunnerID: "jr-1", Epoch: 9}, someChain()}},
		"resume": {func() error { return c.ResumeChain(ctx, to, someID, 9, []byte(sjcJSON)) }, []any{"resume", proto.HandOver{RunnerID: "jr-1", Epoch: 9}, someSuspended()}},
		"stop":   {func() error { return c.StopChain(ctx, s.URL, someID) }, []any{"stop", someID}},
	} {
		if err := tc.do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.args, r.last()); diff != "" {
			t.Errorf("%s: the runner got (-want +got):\n%s", name, diff)
		}
	}
	running, err := c.Running(ctx, s.URL)
	if diff := cmp.Diff([]proto.JobStatus{someStatus}, running); err != nil || diff != "" {
		t.Errorf("running: %v (-want +got):\n%s", err, diff)
	}
	r.err = proto.Errorf(proto.CodeUnavailable, "is shutting down")
	err = c.StartChain(ctx, to, someID, 9, []byte(chainJSON))
	want := &proto.Error{Code: proto.CodeUnavailable, Message: "is shutting down", RequestID: someID, RetryAfter: time.Second}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestClientOfARunnerThatIsAway(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	url := s.URL
	s.Close()
	c := client.New(client.Config{})
	defer c.Close()
	err := c.StopChain(t.Context(), url, someID)
	e, _ := err.(*proto.Error) //nolint:errorlint // the contract is this very type
	if e == nil || e.Code != proto.CodeUnavailable || e.Message != "cannot reach the job runner at "+url || e.RequestID != someID || e.Err == nil {
		t.Errorf("got %#v", err)
	}
}
