package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

const extremeSpecs = `
sequences:
  nothing:
    request: true
    args: {optional: [{name: note, default: x}]}
    nodes:
      only: {category: job, type: noop}
apps:
  counter: {request: nothing, starts: yearly}
  every:   {request: nothing, every: 87600h}
  late:    {request: nothing, cron: "0 0 29 2 *", timezone: Pacific/Kiritimati}
  after:   {request: nothing, depends: {counter: yearly}}
`

// extremes are values that no caller in their right mind sends.
var extremes = []string{
	"", " ", "0", "-1", "1", "1.5", "1e9", "2147483647", "2147483648", "4294967296", "9223372036854775807", "18446744073709551615",
	"99999999999999999999", "NaN", "true", "null", "%", "'", `"; DROP TABLE requests; --`, "..", "../../x", "a/b", "=", "a=", "a=b", "\x00", "a=\x00",
	"\x00=a", "\xff", "a=\xff", "\xff=a", "\u202e", "\n", "😀", strings.Repeat("a", 76), strings.Repeat("a", 256), strings.Repeat("ä", 2000),
	strings.Repeat("a", 100_000), strings.Repeat("a", 70_000) + "=b", "RUNNING", "UNKNOWN", "counter", "every", "late", "nothing",
	"0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00Z", "2262-04-11T23:47:16Z",
	"2262-04-12T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59", "2026-02-30T00:00:00Z", "0000-01-01T00:00:00+23:59",
}

// extremeJSON are values of fields of bodies.
func extremeJSON() []any {
	out := []any{nil, true, 0, -1, 1.5, 1e300, json.Number("99999999999999999999"), math.MaxInt64, uint64(math.MaxUint64), int64(1) << 33, []any{}, []any{nil}, map[string]any{}, map[string]any{"": nil}}
	for _, s := range extremes {
		out = append(out, strings.ToValidUTF8(s, "?"))
	}
	return out
}

// bodies has a body that each route takes, or "" for a route that takes none. Each of
// its fields is replaced by what is extreme.
var bodies = map[string]string{
	"POST /api/v1/requests":                 `{"Type": "nothing", "Args": {"note": "x"}, "User": "u", "host": "h"}`,
	"PUT /api/v1/requests/:id/start":        "",
	"PUT /api/v1/requests/:id/stop":         "",
	"PUT /api/v1/requests/:id/finish":       `{"requestId": "@ID", "state": 3, "finishedAt": "2026-01-02T03:04:05Z", "finishedJobs": 1}`,
	"PUT /api/v1/requests/:id/suspend":      `{"requestId": "@ID", "jobChain": {"requestId": "@ID", "jobs": {"a": {"id": "a", "state": 3}}, "adjacencyList": {"a": []}, "state": 2}, "totalJobTries": {"a": 1}, "latestRunJobTries": {"a": 1}, "sequenceTries": {"a": 1}, "entries": 1}`,
	"PUT /api/v1/requests/:id/progress":     `{"requestId": "@ID", "finishedJobs": 1}`,
	"POST /api/v1/requests/:id/log":         `{"requestId": "@ID", "jobId": "a", "try": 1, "name": "n", "type": "t", "startedAt": 1, "finishedAt": 2, "state": 3, "exit": 0, "error": "", "stdout": "", "stderr": "", "seq": 1}`,
	"POST /api/v1/reports":                  `{"runnerId": "r1", "items": [{"requestId": "@ID", "epoch": 1, "entries": [{"requestId": "@ID", "jobId": "a", "try": 1, "state": 3, "seq": 1}], "finish": {"requestId": "@ID", "state": 3, "finishedAt": "2026-01-02T03:04:05Z"}}]}`,
	"POST /api/v1/job-runners":              `{"id": "r1", "url": "@RUNNER", "host": "h", "pid": 1, "version": "v", "labels": {"a": "b"}, "capacity": 1, "running": [{"requestId": "@ID", "epoch": 1}], "startedAt": "2026-01-02T03:04:05Z"}`,
	"PUT /api/v1/apps/:name":                `{"request": "nothing", "every": "10000h", "host": "h", "timezone": "UTC", "timeout": 5, "deadline": "1h", "failureDelay": 1, "jitter": "1s", "args": {"note": "x"}, "overlap": "skip", "missed": "last", "undo": "nothing"}`,
	"PUT /api/v1/apps/:name/pause":          "",
	"PUT /api/v1/apps/:name/resume":         "",
	"DELETE /api/v1/apps/:name":             "",
	"PUT /api/v1/apps/:name/undo":           `{"instance": "2011-counter", "do": "retry"}`,
	"POST /api/v1/apps/:name/run":           `{"from": "2011-01-01", "to": "2012-01-01", "again": false, "force": false}`,
	"PUT /api/v1/schedule/shards":           `{"shards": 16}`,
	"PUT /api/v1/job-runners/:runner/drain": "",
}

// callsWithBodies are bodies of one route that are not variants of the one in bodies.
var callsWithBodies = map[string][]string{
	"POST /api/v1/apps/:name/run": {`{"period": "2011-counter"}`},
	"PUT /api/v1/apps/:name":      {`{"request": "nothing", "cron": "0 0 * * *"}`, `{"request": "nothing", "depends": {"counter": "yearly"}}`, `{"request": "nothing", "starts": "daily"}`},
}

// TestExtremes sends what is extreme in each place of each route of the page, which
// has all routes there are: no answer is a 5xx, each error has the one form, and the
// service goes on.
func TestExtremes(t *testing.T) {
	t.Parallel()
	routes := routesOfPage(t)
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("extreme", extremeSpecs)
		e.StartRM()
		runner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id": "r1"}`) }))
		t.Cleanup(runner.Close)
		x := &extremeCalls{t: t, e: e, id: e.Submit("nothing", nil), runner: runner.URL}
		name, value := e.Operator()
		x.headers = []string{name, value, "Treadle-Epoch", "1"}
		e.Stop(x.id) // so that its event stream ends
		for _, r := range routes {
			x.route(r)
		}
		if a := e.Do("GET", "/readyz", nil); a.Status != http.StatusOK {
			t.Errorf("not ready after all that: %d %s", a.Status, a.Body)
		}
		for _, r := range e.List("") {
			if got := e.Request(r.ID); got.ID != r.ID {
				t.Errorf("%s cannot be read", r.ID)
			}
		}
		t.Logf("%d calls", x.n)
	})
}

// routesOfPage returns all routes of the Request Manager, which another test compares
// with those it serves.
func routesOfPage(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(string(page), "## All routes of the Request Manager")
	tables, _, _ = strings.Cut(tables, "## All routes of the Job Runner")
	var routes []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z]+ /[^`]*)`").FindAllStringSubmatch(tables, -1) {
		routes = append(routes, m[1])
	}
	if len(routes) < 30 {
		t.Fatalf("the page has only the routes %v", routes)
	}
	return routes
}

type extremeCalls struct {
	t       *testing.T
	e       *e2e.Env
	id      string // of a request that has ended
	runner  string // URL of what says that it is runner r1
	headers []string
	n       int
}

var pathParam = regexp.MustCompile(`:\w+`)

// fill puts what exists in the place of each path parameter.
func (x *extremeCalls) fill(path string) string {
	return pathParam.ReplaceAllStringFunc(path, func(p string) string {
		switch p {
		case ":id":
			return x.id
		case ":name":
			return "counter"
		}
		return "a"
	})
}

func (x *extremeCalls) route(route string) {
	method, path, _ := strings.Cut(route, " ")
	body, known := bodies[route]
	if method != "GET" && !known {
		x.t.Errorf("%s: bodies has none for it", route)
	}
	body = strings.NewReplacer("@ID", x.id, "@RUNNER", x.runner).Replace(body)
	for _, p := range pathParam.FindAllString(path, -1) {
		for _, v := range extremes {
			x.call(method, x.fill(strings.Replace(path, p, url.PathEscape(v), 1)), body)
		}
	}
	filled := x.fill(path)
	for _, header := range []string{"X-Treadle-User", "Idempotency-Key", "Treadle-Epoch", "Content-Type"} {
		for _, v := range extremes {
			if !strings.ContainsFunc(v, unicode.IsControl) {
				x.call(method, filled, body, header, v)
			}
		}
	}
	for _, key := range x.queryKeys(method, filled, body) {
		for _, v := range extremes {
			x.call(method, filled+"?"+url.QueryEscape(key)+"="+url.QueryEscape(v), body)
		}
		x.call(method, filled+"?"+strings.Repeat(url.QueryEscape(key)+"=a&", 1000), body)
		x.call(method, filled+"?"+many(key), body)
	}
	for _, b := range append([]string{body}, callsWithBodies[route]...) {
		x.bodies(method, filled, b)
	}
}

// many has the key a hundred times, each time with another value of the form that
// filters by arg have.
func many(key string) string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "%s=name%d%%3Dx&", url.QueryEscape(key), i)
	}
	return b.String()
}

// queryKeys are the keys that a route knows: it says so when it gets another one. Where
// it ignores that, they are all that any route knows.
func (x *extremeCalls) queryKeys(method, path, body string) []string {
	a := x.call(method, path+"?zzz=1", body)
	if _, list, ok := strings.Cut(string(a.Body), "expected one of "); ok && a.Status == 400 {
		list, _, _ = strings.Cut(list, `"`)
		return strings.Split(list, ", ")
	}
	if strings.Contains(string(a.Body), "none is known here") {
		return nil
	}
	return []string{"requestId", "orderBy", "on", "limit"}
}

// bodies replaces each field of a body, at each depth, by all that is extreme.
func (x *extremeCalls) bodies(method, path, body string) {
	if method == "GET" {
		return
	}
	for _, text := range []string{"", "null", "[]", "{}", `""`, "0", "{", "\xff", "\ufeff{}", strings.Repeat("[", 100_000)} {
		x.call(method, path, text)
	}
	if body == "" {
		return
	}
	var object any
	if err := json.Unmarshal([]byte(body), &object); err != nil {
		x.t.Fatalf("%s: %v", body, err)
	}
	replaceEach(object, func(any) {
		b, err := json.Marshal(object)
		if err != nil {
			x.t.Fatal(err)
		}
		x.call(method, path, string(b))
	})
}

// replaceEach calls do for each value in v that is replaced by each extreme one.
func replaceEach(v any, do func(any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			was := v[k]
			for _, e := range extremeJSON() {
				v[k] = e
				do(v)
			}
			v[k] = was
			replaceEach(was, do)
		}
	case []any:
		for i, was := range v {
			v[i] = nil
			do(v)
			v[i] = was
			replaceEach(was, do)
		}
	}
}

// call sends the header besides those of all calls.
func (x *extremeCalls) call(method, path, body string, header ...string) e2e.Answer {
	x.t.Helper()
	x.n++
	var b any
	if body != "" {
		b = body
	}
	start := time.Now()
	a := x.e.Do(method, path, b, slices.Concat(x.headers, header)...)
	what := fmt.Sprintf("%s %.300q %.600q %.200q: %d %.300s", method, path, body, header, a.Status, a.Body)
	if a.Status >= 500 {
		x.t.Error(what)
	}
	if took := time.Since(start); took > 10*time.Second {
		x.t.Errorf("took %s: %s", took, what)
	}
	if a.Status < 300 || a.Status == http.StatusRequestHeaderFieldsTooLarge || len(a.Body) == 0 {
		return a
	}
	var e proto.ErrorBody
	if err := json.Unmarshal(a.Body, &e); err != nil || e.HTTPStatus != a.Status || e.Message == "" || len(e.Message) > 4000 {
		x.t.Errorf("no error object, or a long one (%d bytes): %s", len(e.Message), what)
	}
	return a
}
