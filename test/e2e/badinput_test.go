package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

const typed = `
sequences:
  typed:
    request: true
    args:
      required:
        - name: count
          type: int
      optional:
        - name: size
          enum: [small, large]
          default: small
        - name: code
          pattern: "^[a-z]+$"
          default: abc
      static:
        - name: fixed
          default: "1"
    nodes:
      only:
        category: job
        type: noop
        args: [{expected: count}, {expected: size}, {expected: code}, {expected: fixed}]
`

// Whatever comes in: the right 4xx, a message that says what was wrong, nothing
// stored and nothing crashed.
func TestBadInput(t *testing.T) {
	t.Parallel()
	const unknown = "00000000000000000000"
	post := func(body string) [3]string { return [3]string{"POST", "/api/v1/requests", body} }
	tests := []struct {
		name    string
		request [3]string // method, path, body
		status  int
		says    []string
	}{
		{"unknown type", post(`{"Type":"typped","Args":{}}`), 400, []string{"typped", "typed"}},
		{"no type", post(`{"Args":{}}`), 400, nil},
		{"sequence that is no request", post(`{"Type":"noop"}`), 400, []string{"noop"}},
		{"missing arg", post(`{"Type":"typed","Args":{}}`), 400, []string{"count"}},
		{"null arg", post(`{"Type":"typed","Args":{"count":null}}`), 400, []string{"count"}},
		{"unknown arg", post(`{"Type":"typed","Args":{"count":1,"sise":"x"}}`), 400, []string{"sise", "size"}},
		{"static arg", post(`{"Type":"typed","Args":{"count":1,"fixed":"2"}}`), 400, []string{"fixed"}},
		{"wrong type of arg", post(`{"Type":"typed","Args":{"count":"many"}}`), 400, []string{"count", "int"}},
		{"number with a fraction", post(`{"Type":"typed","Args":{"count":1.5}}`), 400, []string{"count"}},
		{"not in the enum", post(`{"Type":"typed","Args":{"count":1,"size":"huge"}}`), 400, []string{"size", "small", "large"}},
		{"not of the pattern", post(`{"Type":"typed","Args":{"count":1,"code":"A1"}}`), 400, []string{"code"}},
		{"whole number beyond 64 bits", post(`{"Type":"typed","Args":{"count":18446744073709551616}}`), 400, []string{"Args.count", "64 bits"}},
		{"one below, deep", post(`{"Type":"typed","Args":{"count":[0,{"n":-9223372036854775809}]}}`), 400, []string{"Args.count[1].n", "64 bits"}},
		{"arg twice", post(`{"Type":"typed","Args":{"count":1,"count":1}}`), 400, []string{"Args: key", "count", "twice"}},
		{"key twice, deep", post(`{"Type":"typed","Args":{"count":{"a":[{"b":1,"b":2}]}}}`), 400, []string{"Args.count.a[0]", "twice"}},
		{"field twice", post(`{"Type":"typed","Type":"typed","Args":{"count":1}}`), 400, []string{"Type", "twice"}},
		{"field twice, in other letters", post(`{"Type":"typed","Args":{"count":1},"args":{"count":2}}`), 400, []string{"Args and args are the same field"}},
		{"app with a field twice, in other letters", [3]string{"PUT", "/api/v1/apps/a", `{"request":"typed","every":"1h","Every":"2h","args":{"count":1}}`}, 400, []string{"Every and every"}},
		{"app with a number beyond 64 bits", [3]string{"PUT", "/api/v1/apps/a", `{"request":"typed","every":"1h","args":{"count":99999999999999999999}}`}, 400, []string{"args.count", "64 bits"}},
		{"app with an arg twice", [3]string{"PUT", "/api/v1/apps/a", `{"request":"typed","every":"1h","args":{"count":1,"count":2}}`}, 400, []string{"args", "count", "twice"}},
		{"app with a field twice", [3]string{"PUT", "/api/v1/apps/a", `{"request":"typed","every":"1h","every":"2h","args":{"count":1}}`}, 400, []string{"every", "twice"}},
		{"backfill with a field twice", [3]string{"POST", "/api/v1/apps/a/run", `{"period":"2d","period":"1d"}`}, 400, []string{"period", "twice"}},
		{"args are a list", post(`{"Type":"typed","Args":[1]}`), 400, nil},
		{"type is a number", post(`{"Type":7}`), 400, nil},
		{"not JSON", post(`{"Type": `), 400, nil},
		{"nothing", post(``), 400, nil},
		{"two objects", post(`{"Type":"typed","Args":{"count":1}}{}`), 400, nil},
		{"10 MiB", post(`{"Type":"typed","Args":{"code":"` + strings.Repeat("a", 10<<20) + `"}}`), 413, nil},
		{"2 MiB of args", post(`{"Type":"typed","Args":{"count":1,"code":"` + strings.Repeat("a", 2<<20) + `"}}`), 413, nil},
		{"deep JSON", post(`{"Type":"typed","Args":{"count":` + strings.Repeat("[", 100_000) + `}}`), 400, nil},

		{"unknown id", [3]string{"GET", "/api/v1/requests/" + unknown}, 404, nil},
		{"chain of an unknown id", [3]string{"GET", "/api/v1/requests/" + unknown + "/job-chain"}, 404, nil},
		{"log of an unknown id", [3]string{"GET", "/api/v1/requests/" + unknown + "/log"}, 404, nil},
		{"log of an unknown job", [3]string{"GET", "/api/v1/requests/" + unknown + "/log/a-1"}, 404, nil},
		{"stop of an unknown id", [3]string{"PUT", "/api/v1/requests/" + unknown + "/stop"}, 404, nil},
		{"path as id", [3]string{"GET", "/api/v1/requests/%2e%2e%2f%2e%2e%2fx"}, 404, nil},
		{"path as id, in clear", [3]string{"GET", "/api/v1/requests/../../x"}, 404, nil},
		{"quotes as id", [3]string{"GET", "/api/v1/requests/%27%20OR%201=1%20--"}, 404, nil},
		{"zero byte as id", [3]string{"GET", "/api/v1/requests/%00"}, 404, nil},
		{"long id", [3]string{"GET", "/api/v1/requests/" + strings.Repeat("a", 4000)}, 404, nil},
		{"unknown path", [3]string{"GET", "/api/v1/nothing"}, 404, nil},

		{"wrong method", [3]string{"DELETE", "/api/v1/requests"}, 405, nil},
		{"wrong method on a request", [3]string{"POST", "/api/v1/requests/" + unknown + "/stop"}, 405, nil},

		{"unknown state", [3]string{"GET", "/api/v1/requests?state=DONE"}, 400, []string{"DONE", "COMPLETE"}},
		{"limit is no number", [3]string{"GET", "/api/v1/requests?limit=ten"}, 400, []string{"limit"}},
		{"bad time", [3]string{"GET", "/api/v1/requests?since=yesterday"}, 400, []string{"since"}},
		{"bad arg filter", [3]string{"GET", "/api/v1/requests?arg=count"}, 400, []string{"arg"}},
	}
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("typed", typed)
		e.StartRM()
		for _, tt := range tests {
			var body any
			if tt.request[2] != "" || tt.request[0] == "POST" {
				body = tt.request[2]
			}
			a := e.Do(tt.request[0], tt.request[1], body)
			what := tt.name + ": " + string(a.Body)
			if a.Status != tt.status {
				t.Errorf("%d, want %d: %s", a.Status, tt.status, what)
			}
			checkErrorBody(t, what, a)
			for _, s := range tt.says {
				if !strings.Contains(string(a.Body), s) {
					t.Errorf("%q is not in %s", s, what)
				}
			}
		}
		if list := e.List(""); len(list) != 0 {
			t.Errorf("stored: %+v", list)
		}
		if a := e.Do("GET", "/readyz", nil); a.Status != http.StatusOK {
			t.Errorf("not ready after all that: %d %s", a.Status, a.Body)
		}
	})
}

// checkErrorBody holds an answer to the form that all errors have.
func checkErrorBody(t *testing.T, what string, a e2e.Answer) {
	t.Helper()
	var body map[string]json.RawMessage
	if err := json.Unmarshal(a.Body, &body); err != nil {
		t.Errorf("no error object: %s", what)
		return
	}
	var b proto.ErrorBody
	if err := json.Unmarshal(a.Body, &b); err != nil || b.Message == "" || b.HTTPStatus != a.Status || body["requestId"] == nil {
		t.Errorf("error object %+v for status %d: %s", b, a.Status, what)
	}
	if strings.Contains(b.Message, "internal error") {
		t.Errorf("a mistake of the caller is called internal: %s", what)
	}
}
