package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/internal/supervise"
	"github.com/treadle-run/treadle/job/builtin"
)

func TestMain(m *testing.M) {
	supervise.Main() // the runner of `dev` starts this program once more
	goleak.VerifyTestMain(m)
}

const (
	id    = "d3k1b2v0s5mg00a1b2c0"
	other = "d3k1b2v0s5mg00a1b2d0"
)

// specList is what the fake Request Manager can be asked for.
const specList = `[
 {"Name": "deploy", "Args": [
  {"Pos": 0, "Name": "app", "Desc": "What to deploy", "Type": "required", "Given": false, "Default": null, "Value": null, "ValueType": "string", "Pattern": "^[a-z]+$"},
  {"Pos": 1, "Name": "count", "Desc": "How many", "Type": "required", "Given": false, "Default": null, "Value": null, "ValueType": "int"},
  {"Pos": 2, "Name": "token", "Desc": "", "Type": "required", "Given": false, "Default": null, "Value": null, "Secret": true},
  {"Pos": 0, "Name": "ratio", "Desc": "", "Type": "optional", "Given": false, "Default": 0.5, "Value": null, "ValueType": "float"},
  {"Pos": 1, "Name": "dry", "Desc": "", "Type": "optional", "Given": false, "Default": false, "Value": null, "ValueType": "bool"},
  {"Pos": 2, "Name": "hosts", "Desc": "", "Type": "optional", "Given": false, "Default": [], "Value": null, "ValueType": "list"},
  {"Pos": 3, "Name": "meta", "Desc": "", "Type": "optional", "Given": false, "Default": {}, "Value": null, "ValueType": "object"},
  {"Pos": 4, "Name": "note", "Desc": "", "Type": "optional", "Given": false, "Default": "", "Value": null},
  {"Pos": 0, "Name": "channel", "Desc": "", "Type": "static", "Given": false, "Default": "#ops", "Value": null}
 ]},
 {"Name": "hello", "Args": []}
]`

// requestJSON is a request on the wire.
func requestJSON(state int, finished int, more string) string {
	ended := "null"
	if state == 3 || state == 4 || state == 6 {
		ended = `"2026-03-01T12:01:30Z"`
	}
	return fmt.Sprintf(`{"id": %q, "type": "hello", "state": %d, "user": "ada", "createdAt": "2026-03-01T12:00:00Z",
 "startedAt": "2026-03-01T12:00:01Z", "finishedAt": %s, "totalJobs": 3, "finishedJobs": %d, "epoch": 1%s}`, id, state, ended, finished, more)
}

const chainJSON = `, "args": [
  {"Pos": 0, "Name": "name", "Desc": "", "Type": "optional", "Given": true, "Default": "world", "Value": "Ada"},
  {"Pos": 1, "Name": "count", "Desc": "", "Type": "optional", "Given": false, "Default": 3, "Value": 3}],
 "JobChain": {"requestId": "d3k1b2v0s5mg00a1b2c0", "state": 2, "finishedJobs": 1,
  "jobs": {
   "a-1": {"id": "a-1", "name": "a", "type": "shell", "state": 3, "args": {}, "data": {}, "retry": 0, "retryWait": "", "sequenceId": "a-1"},
   "b-2": {"id": "b-2", "name": "b", "type": "sleep", "state": 2, "args": {}, "data": {}, "retry": 2, "retryWait": "3s", "sequenceId": "a-1"},
   "c-10": {"id": "c-10", "name": "c", "type": "noop", "state": 1, "args": {}, "data": {}, "retry": 0, "retryWait": "", "sequenceId": "a-1"}},
  "adjacencyList": {"a-1": ["b-2"], "b-2": ["c-10"]}}`

const logJSON = `[
 {"requestId": "d3k1b2v0s5mg00a1b2c0", "jobId": "a-1", "try": 1, "name": "a", "type": "shell", "startedAt": 1772366401000000000,
  "finishedAt": 1772366402500000000, "state": 3, "exit": 0, "error": "", "stdout": "fine\n", "stderr": "", "seq": 0},
 {"requestId": "d3k1b2v0s5mg00a1b2c0", "jobId": "b-2", "try": 1, "name": "b", "type": "shell", "startedAt": 1772366403000000000,
  "finishedAt": 1772366403100000000, "state": 4, "exit": 7, "error": "exit code 7\u001b[2J", "stdout": "", "stderr": "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n\u001b[31mred\n", "seq": 1}]`

const runningJSON = `{"jobs": [{"requestId": "d3k1b2v0s5mg00a1b2c0", "jobId": "b-2", "type": "sleep", "name": "b",
 "startedAt": 1772366460000000000, "state": 2, "status": "12s left", "try": 2}],
 "requests": {"d3k1b2v0s5mg00a1b2c0": {"id": "d3k1b2v0s5mg00a1b2c0", "type": "hello", "state": 2}}, "unreachable": ["http://10.0.0.9:32307"]}`

const runnersJSON = `[{"id": "r1", "url": "http://127.0.0.1:4000", "host": "db1", "pid": 7, "version": "v1", "labels": {"zone": "a"}, "capacity": 4,
 "draining": true, "running": [{"requestId": "d3k1b2v0s5mg00a1b2c0", "epoch": 1}], "heartbeatAt": "2026-03-01T12:01:00Z"}]`

// fake is a Request Manager that answers what it is told to, and remembers what
// it was asked.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
	// created has the bodies of POST /requests, keys the Idempotency-Key of each,
	// users the caller.
	created []map[string]any
	keys    []string
	users   []string
	bodies  []string // of calls on recurring work

	request string     // answer of GET /requests/:id
	events  []string   // requests sent to watchers
	script  [][]string // instead of events: those of each watcher in turn
	hold    bool       // watchers get no end
	refuse  string     // error for everything, as body
	status  int        // its status
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{request: requestJSON(2, 1, chainJSON)}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.calls = append(f.calls, r.Method+" "+r.URL.RequestURI())
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if f.refuse != "" {
		w.WriteHeader(f.status)
		fmt.Fprint(w, f.refuse)
		return
	}
	if answer, ok := scheduleAnswers[r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v1")]; ok {
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		f.bodies = append(f.bodies, string(body))
		f.mu.Unlock()
		fmt.Fprint(w, answer)
		return
	}
	switch path := strings.TrimPrefix(r.URL.Path, "/api/v1"); {
	case path == "/request-list":
		fmt.Fprint(w, specList)
	case path == "/requests" && r.Method == http.MethodPost:
		f.create(w, r)
	case path == "/requests":
		fmt.Fprint(w, "["+requestJSON(3, 3, "")+"]")
	case path == "/requests/"+id:
		fmt.Fprint(w, f.request)
	case path == "/requests/"+id+"/log":
		fmt.Fprint(w, logJSON)
	case path == "/requests/"+id+"/stop":
	case path == "/requests/"+id+"/events":
		f.watch(w, r)
	case path == "/status/running":
		fmt.Fprint(w, runningJSON)
	case path == "/job-runners":
		fmt.Fprint(w, runnersJSON)
	case strings.HasPrefix(path, "/job-runners/"):
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message": "no request with that id", "requestId": "", "httpStatus": 404}`)
	}
}

func (f *fake) create(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	f.created = append(f.created, body)
	f.keys = append(f.keys, r.Header.Get("Idempotency-Key"))
	f.users = append(f.users, r.Header.Get("X-Treadle-User"))
	f.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, requestJSON(1, 0, ""))
}

func (f *fake) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	f.mu.Lock()
	events := f.events
	if len(f.script) > 0 {
		events, f.script = f.script[0], f.script[1:]
	}
	f.mu.Unlock()
	for _, e := range events {
		fmt.Fprintf(w, "event: request\ndata: %s\n\n", strings.ReplaceAll(e, "\n", " "))
		w.(http.Flusher).Flush()
	}
	if f.hold {
		<-r.Context().Done()
	}
}

// now is the time of the tests: 2026-03-01T12:02:00Z.
func now() time.Time { return time.Date(2026, 3, 1, 12, 2, 0, 0, time.UTC) }

// result is what a run of the program gave.
type result struct {
	code           int
	stdout, stderr string
}

// treadle runs the program against f with nothing on stdin, and tables as wide as they
// want to be.
func (f *fake) treadle(t *testing.T, args ...string) result {
	t.Helper()
	return f.treadleWith(t.Context(), map[string]string{"TREADLE_ADDR": f.URL, "TREADLE_USER": "ada", "COLUMNS": "1000"}, "", args...)
}

func (f *fake) treadleWith(ctx context.Context, env map[string]string, stdin string, args ...string) result {
	var stdout, stderr bytes.Buffer
	p := &program{
		stdin: strings.NewReader(stdin), out: &term.Out{Stdout: &stdout, Stderr: &stderr, Now: now}, registry: builtin.Registry(),
		env: env,
	}
	code := p.run(ctx, args)
	return result{code, stdout.String(), stderr.String()}
}

// has checks that text has all of want.
func has(t *testing.T, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s lacks %q; it is:\n%s", what, w, text)
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
