package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

// The JSON of the fixtures as clients must see it, name for name.
const (
	argsJSON  = `"args":[{"Pos":0,"Name":"host","Desc":"where","Type":"required","Given":true,"Default":null,"Value":"a1"}],`
	timesJSON = `"createdAt":"2026-01-02T03:04:05.6789Z","startedAt":"2026-01-02T03:04:06.6789Z","finishedAt":null,`
	chainJSON = `{"requestId":"` + someID + `","jobs":{"a":{"id":"a","name":"first","type":"noop","state":3,"args":{"host":"a1"},"data":{},` +
		`"retry":2,"retryWait":"3s","sequenceId":"a"}},"adjacencyList":{},"state":2,"finishedJobs":1}`
	entryJSON = `{"requestId":"` + someID + `","jobId":"a","try":2,"name":"first","type":"noop","startedAt":1767323045000000001,` +
		`"finishedAt":1767323046000000002,"state":4,"exit":7,"error":"no","stdout":"out","stderr":"err","seq":4}`
	statusJSON = `{"requestId":"` + someID + `","jobId":"a","type":"noop","name":"first","startedAt":1767323045000000001,"state":2,"status":"half","try":1}`
	sjcJSON    = `{"requestId":"` + someID + `","jobChain":` + chainJSON + `,"totalJobTries":{"a":2},"latestRunJobTries":{"a":1},"sequenceTries":{},"entries":2}`
	epoch      = "Treadle-Epoch: 3"
)

func requestJSON(args, chain string) string {
	return `{"id":"` + someID + `","type":"deploy","state":2,"user":"ann",` + args + timesJSON + chain +
		`"totalJobs":2,"finishedJobs":1,"jrURL":"http://10.0.0.7:32307","epoch":3}`
}

// TestAnswers holds every route to its answer, byte for byte.
func TestAnswers(t *testing.T) {
	t.Parallel()
	full := requestJSON(argsJSON, `"JobChain":`+chainJSON+`,`)
	pending := `{"id":"` + someID + `","type":"deploy","state":1,"user":"ann",` + argsJSON +
		`"createdAt":"2026-01-02T03:04:05.6789Z","startedAt":null,"finishedAt":null,"totalJobs":2,"finishedJobs":0,"epoch":3}`
	of := "/api/v1/requests/" + someID
	for _, tc := range []struct {
		method, path, body string
		header             string
		status             int
		answer             string
	}{
		{"POST", "/api/v1/requests", `{"Type":"deploy","Args":{"host":"a1"},"User":"ignored"}`, "", 201, pending},
		{"GET", "/api/v1/requests", "", "", 200, `[` + requestJSON("", "") + `]`},
		{"GET", "/api/v1/requests?type=nothing", "", "", 200, `[]`},
		{"GET", of, "", "", 200, full},
		{"GET", of + "/job-chain", "", "", 200, chainJSON},
		{"PUT", of + "/start", "", "", 200, ""},
		{"PUT", of + "/stop", "", "", 200, ""},
		{"GET", of + "/log", "", "", 200, `[` + entryJSON + `]`},
		{"GET", of + "/log/a", "", "", 200, entryJSON},
		{"GET", "/api/v1/request-list", "", "", 200, `[{"Name":"bare","Args":[]},{"Name":"deploy","Args":[` +
			`{"Pos":1,"Name":"n","Desc":"how many","Type":"optional","Given":false,"Default":"3","Value":null}]}]`},
		{"GET", "/api/v1/status/running", "", "", 200, `{"jobs":[],"requests":{}}`},
		{"GET", "/api/v1/status/running?orderBy=startTime&requestId=" + someID, "", "", 200,
			`{"jobs":[` + statusJSON + `],"requests":{"` + someID + `":` + requestJSON(argsJSON, "") + `}}`},
		{"PUT", of + "/finish", `{"requestId":"` + someID + `","state":3,"finishedAt":"2026-01-02T03:04:05Z","finishedJobs":2}`, epoch, 200, ""},
		{"PUT", of + "/suspend", sjcJSON, epoch, 200, ""},
		{"PUT", of + "/progress", `{"requestId":"` + someID + `","finishedJobs":1}`, epoch, 200, ""},
		{"POST", of + "/log", entryJSON, epoch, 201, entryJSON},
		{"POST", "/api/v1/reports", `{"runnerId":"r1","items":[]}`, "", 200, `{"refused":[{"requestId":"` + someID + `","epoch":2,"message":"old"}]}`},
		{"POST", "/api/v1/job-runners", `{"id":"r1","url":"http://x"}`, "", 200, `{"lease":"1m0s","drain":true}`},
		{"GET", "/api/v1/job-runners", "", "", 200, `[{"id":"r1","url":"http://10.0.0.7:32307","host":"h","pid":7,"version":"v1","capacity":5,` +
			`"draining":false,"running":[],"startedAt":"2026-01-02T03:04:05.6789Z","heartbeatAt":"2026-01-02T03:04:06.6789Z"}]`},
		{"PUT", "/api/v1/job-runners/r1/drain?on=true", "", "", 200, ""},
		{"GET", "/version", "", "", 200, `{"version":"v9"}`},
		{"GET", "/healthz", "", "", 200, `{"status":"ok"}`},
		{"GET", "/readyz", "", "", 200, `{"status":"ready"}`},
	} {
		t.Run(tc.method+" "+tc.path, func(t *testing.T) {
			t.Parallel()
			var headers []string
			if tc.header != "" {
				headers = append(headers, tc.header)
			}
			w := call(t, Config{Version: "v9"}, &fakeManager{}, tc.method, tc.path, tc.body, headers...)
			if w.Code != tc.status {
				t.Errorf("status is %d, want %d", w.Code, tc.status)
			}
			if diff := cmp.Diff(tc.answer, strings.TrimSuffix(w.Body.String(), "\n")); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if ct := w.Header().Get("Content-Type"); tc.answer != "" && ct != "application/json" {
				t.Errorf("Content-Type is %q", ct)
			}
		})
	}
}

func TestCreatedRequestSaysWhereItIs(t *testing.T) {
	t.Parallel()
	m := &fakeManager{}
	w := call(t, Config{}, m, "POST", "/api/v1/requests", `{"type":"deploy","ARGS":{"n":3,"f":3.0},"user":"mallory","more":1}`,
		"Idempotency-Key: k-1", "X-Treadle-User: bob")
	if got := w.Header().Get("Location"); got != "/api/v1/requests/"+someID {
		t.Errorf("Location is %q", got)
	}
	want := []any{proto.CreateRequest{Type: "deploy", Args: proto.Values{"n": int64(3), "f": 3.0}}, "bob", "k-1"}
	if diff := cmp.Diff(want, m.last()); diff != "" {
		t.Errorf("the manager was called with (-want +got):\n%s", diff)
	}
}

func TestCallerWithoutNameIsAnonymous(t *testing.T) {
	t.Parallel()
	m := &fakeManager{}
	call(t, Config{}, m, "POST", "/api/v1/requests", `{"Type":"deploy"}`)
	want := []any{proto.CreateRequest{Type: "deploy"}, "anonymous", ""}
	if diff := cmp.Diff(want, m.last()); diff != "" {
		t.Errorf("the manager was called with (-want +got):\n%s", diff)
	}
}

// TestBadInput sends what no handler may take. None of it reaches the manager.
func TestBadInput(t *testing.T) {
	t.Parallel()
	const noRequest, noEpoch = "no request with that id", "header Treadle-Epoch is missing: expected the epoch of the chain"
	of := "/api/v1/requests/" + someID
	for _, tc := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		message                  string
	}{
		{"empty body", "POST", "/api/v1/requests", "", nil, 400, "the body is empty: expected a JSON object"},
		{"malformed", "POST", "/api/v1/requests", `{"Type": deploy}`, nil, 400, "malformed JSON at line 1, column 10: invalid character 'd' looking for beginning of value"},
		{"trailing garbage", "POST", "/api/v1/requests", `{"Type":"x"}}`, nil, 400, "malformed JSON at line 1, column 13: invalid character '}' after top-level value"},
		{"type is a number", "POST", "/api/v1/requests", `{"Type":7}`, nil, 400, "Type: expected a string, got number"},
		{"args is a list", "POST", "/api/v1/requests", `{"Type":"x","Args":[1]}`, nil, 400, "Args: expected a JSON object"},
		{"huge number in args", "POST", "/api/v1/requests", `{"Type":"x","Args":{"n":1e999}}`, nil, 400, "Args: number 1e999 is out of range"},
		{"very long number in args", "POST", "/api/v1/requests", `{"Type":"x","Args":{"n":` + strings.Repeat("9", 900_000) + `}}`, nil, 400, "Args.n: " + strings.Repeat("9", 40) + "... is beyond 64 bits; only a string can hold it"},
		{"very long number for a string", "POST", "/api/v1/requests", `{"Type":` + strings.Repeat("9", 900_000) + `}`, nil, 400, "Type: expected a string, got number"},
		{"very long number in the query", "GET", "/api/v1/requests?limit=" + strings.Repeat("9", 900_000), "", nil, 400, `limit: expected a whole number from 0 on, got "` + strings.Repeat("9", 59) + "... (900002 bytes)"},
		{"args too large", "POST", "/api/v1/requests", `{"Type":"x","Args":{"s":"` + strings.Repeat("a", 1<<20) + `"}}`, nil, 413, "Args: larger than 1 MiB"},
		{"body too large", "POST", "/api/v1/requests", `{"Type":"` + strings.Repeat("a", 10<<20) + `"}`, nil, 413, "the body is larger than 8 MiB"},
		{"empty key", "POST", "/api/v1/requests", `{"Type":"x"}`, []string{"Idempotency-Key: "}, 400, "header Idempotency-Key: expected one key of 1 to 255 printable ASCII characters"},
		{"two keys", "POST", "/api/v1/requests", `{"Type":"x"}`, []string{"Idempotency-Key: a", "Idempotency-Key: b"}, 400, "header Idempotency-Key: expected one key of 1 to 255 printable ASCII characters"},
		{"long key", "POST", "/api/v1/requests", `{"Type":"x"}`, []string{"Idempotency-Key: " + strings.Repeat("k", 256)}, 400, "header Idempotency-Key: expected one key of 1 to 255 printable ASCII characters"},
		{"control in user", "GET", of, "", []string{"X-Treadle-User: a\tb"}, 400, "header X-Treadle-User: expected a name of at most 100 bytes without control or invisible characters"},
		{"long user", "GET", of, "", []string{"X-Treadle-User: " + strings.Repeat("a", 101)}, 400, "header X-Treadle-User: expected a name of at most 100 bytes without control or invisible characters"},

		{"short id", "GET", "/api/v1/requests/abc", "", nil, 404, noRequest},
		{"id of other letters", "GET", "/api/v1/requests/" + strings.ToUpper(someID), "", nil, 404, noRequest},
		{"no id", "GET", "/api/v1/requests/", "", nil, 404, noRequest},
		{"id climbs", "GET", "/api/v1/requests/../../x", "", nil, 404, noRequest},
		{"id climbs, encoded", "GET", "/api/v1/requests/%2e%2e%2f%2e%2e%2fx", "", nil, 404, noRequest},
		{"id is dots", "GET", "/api/v1/requests/%2e%2e", "", nil, 404, noRequest},
		{"id climbs below", "GET", "/api/v1/requests/..%2f..%2fx/log", "", nil, 404, noRequest},
		{"id has a NUL", "GET", "/api/v1/requests/%00" + someID[1:], "", nil, 404, noRequest},
		{"id has SQL", "PUT", "/api/v1/requests/'%20OR%201=1/stop", "", nil, 404, noRequest},
		{"start", "PUT", "/api/v1/requests/abc/start", "", nil, 404, noRequest},
		{"job chain", "GET", "/api/v1/requests/abc/job-chain", "", nil, 404, noRequest},
		{"events", "GET", "/api/v1/requests/abc/events", "", nil, 404, noRequest},
		{"running", "GET", "/api/v1/status/running?requestId=abc", "", nil, 404, noRequest},
		{"log of an id", "GET", "/api/v1/requests/abc/log/a", "", nil, 404, noRequest},
		{"long job id", "GET", of + "/log/" + strings.Repeat("a", 33), "", nil, 404, "no job with that id"},
		{"job id with slash", "GET", of + "/log/a/b", "", nil, 404, "no job with that id"},
		{"below a request", "GET", of + "/nothing", "", nil, 404, "no such path: " + of + "/nothing"},
		{"no path", "GET", "/api/v2/requests", "", nil, 404, "no such path: /api/v2/requests"},
		{"wrong method", "DELETE", of, "", nil, 405, "DELETE is not allowed here, only OPTIONS, GET"},
		{"wrong method below", "POST", of + "/stop", "", nil, 405, "POST is not allowed here, only OPTIONS, PUT"},
		{"order", "GET", "/api/v1/status/running?orderBy=name", "", nil, 400, `orderBy: expected startTime, got "name"`},

		{"finish, no epoch", "PUT", of + "/finish", `{}`, nil, 400, noEpoch},
		{"suspend, no epoch", "PUT", of + "/suspend", `{}`, nil, 400, noEpoch},
		{"progress, no epoch", "PUT", of + "/progress", `{}`, nil, 400, noEpoch},
		{"log, no epoch", "POST", of + "/log", `{}`, nil, 400, noEpoch},
		{"epoch no number", "PUT", of + "/finish", `{}`, []string{"Treadle-Epoch: -1"}, 400, `header Treadle-Epoch: expected a whole number of at most 63 bits, got "-1"`},
		{"other request", "PUT", of + "/progress", `{"requestId":"x"}`, []string{epoch}, 400, `requestId: expected "` + someID + `" as in the path, got "x"`},
		{"no chain", "PUT", of + "/suspend", `{"requestId":"` + someID + `"}`, []string{epoch}, 400, "jobChain is missing"},
		{"null job", "POST", "/api/v1/reports", `{"items":[{"suspended":{"requestId":"` + someID + `","jobChain":{"requestId":"` + someID + `","jobs":{"a":null}}}}]}`, nil, 400, `jobs: "a" is null`},
		{"runner without id", "POST", "/api/v1/job-runners", `{"url":"x"}`, nil, 400, "id and url: a runner needs both"},
		{"runner with a long version", "POST", "/api/v1/job-runners", `{"id":"a","url":"x","version":"` + strings.Repeat("v", 101) + `"}`, nil, 400, "version: expected at most 100 bytes of text without control characters"},
		{"runner with a large capacity", "POST", "/api/v1/job-runners", `{"id":"a","url":"x","capacity":2147483648}`, nil, 400, "pid or capacity: out of range"},
		{"many args to filter by", "GET", "/api/v1/requests?" + manyArgs(21), "", nil, 400, "arg: expected at most 20 different names"},
		{"times of the far future", "GET", "/api/v1/apps/x/next?from=9999-12-31T23:59:59Z", "", nil, 400, `from: expected a time before the year 3000, got "9999-12-31T23:59:59Z"`},
		{"a filter that is not UTF-8", "GET", "/api/v1/instances?app=%ff", "", nil, 400, "app: expected UTF-8 text without zero bytes"},
		{"a zero byte in a filter", "GET", "/api/v1/requests?arg=a%3D%00", "", nil, 400, "arg: expected UTF-8 text without zero bytes"},
		{"drain how", "PUT", "/api/v1/job-runners/r1/drain", "", nil, 400, `on: expected true or false, got ""`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := &fakeManager{}
			w := call(t, Config{}, m, tc.method, tc.path, tc.body, tc.headers...)
			var b proto.ErrorBody
			if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil {
				t.Fatalf("answer %q: %v", w.Body, err)
			}
			if w.Code != tc.status || b.HTTPStatus != tc.status || b.Message != tc.message {
				t.Errorf("got %d %+v\nwant %d %q", w.Code, b, tc.status, tc.message)
			}
			if m.last() != nil {
				t.Errorf("the manager was called with %v", m.last())
			}
		})
	}
}

// manyArgs is a query with n filters by arg, of which each is given twice.
func manyArgs(n int) string {
	var b strings.Builder
	for i := range 2 * n {
		fmt.Fprintf(&b, "arg=name%d%%3Dx&", i/2)
	}
	return b.String()
}

func TestErrorsOfTheManager(t *testing.T) {
	t.Parallel()
	m := &fakeManager{err: proto.Errorf(proto.CodeConflict, "is COMPLETE: it cannot be stopped")}
	w := call(t, Config{}, m, "PUT", "/api/v1/requests/"+someID+"/stop", "")
	want := `{"message":"is COMPLETE: it cannot be stopped","requestId":"` + someID + `","httpStatus":409}` + "\n"
	if w.Code != 409 || w.Body.String() != want {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	m = &fakeManager{err: proto.Errorf(proto.CodeUnavailable, "the database is unavailable")}
	w = call(t, Config{}, m, "GET", "/readyz", "")
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("got %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
}

func TestRunnersMustKnowTheSecretAndUsersNeedNot(t *testing.T) {
	t.Parallel()
	of := "/api/v1/requests/" + someID
	for _, tc := range []struct {
		method, path string
		guarded      bool
	}{
		{"PUT", of + "/finish", true}, {"PUT", of + "/suspend", true}, {"PUT", of + "/progress", true},
		{"POST", of + "/log", true}, {"POST", "/api/v1/reports", true}, {"POST", "/api/v1/job-runners", true},
		{"GET", of, false}, {"PUT", of + "/stop", false}, {"GET", "/api/v1/job-runners", false},
		{"GET", "/healthz", false}, {"GET", "/version", false}, {"GET", "/readyz", false},
		{"GET", "/metrics", true}, {"PUT", "/api/v1/job-runners/r1/drain?on=true", true}, {"PUT", "/api/v1/schedule/shards", true},
	} {
		m := &fakeManager{}
		w := call(t, Config{Secret: "s3"}, m, tc.method, tc.path, "")
		if (w.Code == 401) != tc.guarded {
			t.Errorf("%s %s without the secret: %d", tc.method, tc.path, w.Code)
		}
		if tc.guarded && m.last() != nil {
			t.Errorf("%s %s reached the manager", tc.method, tc.path)
		}
		w = call(t, Config{Secret: "s3"}, m, tc.method, tc.path, "", "Authorization: Treadle s3")
		if w.Code == 401 {
			t.Errorf("%s %s with the secret: 401", tc.method, tc.path)
		}
	}
}

func TestServiceSurvivesPanics(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	api := New(Config{}, (&fakeManager{panics: true}).services(), quiet(t))
	for range 2 {
		api.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/api/v1/requests/"+someID, nil))
	}
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"internal error"`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestLargeBodyOverTheWire sends more than the limit from a client that does not
// listen before it has sent all.
func TestLargeBodyOverTheWire(t *testing.T) {
	t.Parallel()
	url := serve(t, Config{}, &fakeManager{})
	resp, err := http.Post(url+"/api/v1/requests", "application/json", strings.NewReader(`{"Type":"`+strings.Repeat("a", 10<<20)+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 413 {
		t.Errorf("got %d %s %v", resp.StatusCode, body, err)
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 1, 2, 3, 4, 5, 123456000, time.UTC)
	for query, want := range map[string]proto.RequestFilter{
		"":                                       {},
		"type=&user=&state=&arg=&since=&limit=":  {},
		"type=deploy&user=ann":                   {Type: "deploy", User: "ann"},
		"state=RUNNING&state=FAIL&state=RUNNING": {States: []proto.State{proto.StateRunning, proto.StateFail}},
		"arg=host=a1&arg=note=x=y%26z&arg=empty=":  {Args: map[string]string{"host": "a1", "note": "x=y&z", "empty": ""}},
		"since=2026-01-02T03:04:05.123456Z":        {Since: since},
		"until=2026-01-02T05:04:05.123456%2B02:00": {Until: since},
		"limit=50&offset=100":                      {Limit: 50, Offset: 100},
		"offset=5":                                 {Limit: 1<<31 - 1, Offset: 5},
		"limit=0&offset=5":                         {Limit: 1<<31 - 1, Offset: 5},
		"state=UNKNOWN&state=RESERVED":             {States: []proto.State{proto.StateUnknown, 5}},
	} {
		m := &fakeManager{}
		if w := call(t, Config{}, m, "GET", "/api/v1/requests?"+query, ""); w.Code != 200 {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
			continue
		}
		if diff := cmp.Diff([]any{want}, m.last()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

func TestFilterRefuses(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"stat=RUNNING":        `unknown query key "stat": expected one of type, user, state, arg, since, until, limit, offset`,
		"type=a&type=b":       "type: given 2 times, expected once",
		"state=running":       `state: unknown state "running": expected one of PENDING, RUNNING, COMPLETE, FAIL, STOPPED, SUSPENDED`,
		"state=2":             `state: unknown state "2": expected one of PENDING, RUNNING, COMPLETE, FAIL, STOPPED, SUSPENDED`,
		"arg=host":            `arg: expected name=value, got "host"`,
		"arg==a":              `arg: expected name=value, got "=a"`,
		"arg=h=1&arg=h=2":     `arg: "h" is given twice with different values: no request has both`,
		"since=yesterday":     `since: expected a time such as 2006-01-02T15:04:05.999999Z, got "yesterday"`,
		"until=2026-01-02":    `until: expected a time such as 2006-01-02T15:04:05.999999Z, got "2026-01-02"`,
		"limit=-1":            `limit: expected a whole number from 0 on, got "-1"`,
		"limit=99999999999":   `limit: expected a whole number from 0 on, got "99999999999"`,
		"limit=5&offset=five": `offset: expected a whole number from 0 on, got "five"`,
		"type=%zz":            `malformed query: invalid URL escape "%zz"`,
	} {
		w := call(t, Config{}, &fakeManager{}, "GET", "/api/v1/requests?"+query, "")
		var b proto.ErrorBody
		if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil || w.Code != 400 || b.Message != want {
			t.Errorf("%s: got %d %q, want %q", query, w.Code, b.Message, want)
		}
	}
}
