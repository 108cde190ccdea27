package httpjson

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/proto"
)

// thing is a body with a field of each kind.
type thing struct {
	Name  string `json:"Name"`
	Count uint8  `json:"Count"`
	Deep  struct{ On bool }
	List  []string     `json:"List"`
	Vals  proto.Values `json:"Vals"`
}

// serve sends one call to a handler under everything that New puts around it.
func serve(t *testing.T, log io.Writer, handle echo.HandlerFunc, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	routes := []Route{{Method: "POST", Path: "/things/:id", Handle: handle}, {Method: "GET", Path: "/things/:id", Handle: handle}}
	e := New(routes, Guard{}, NewMetrics(prometheus.NewRegistry(), "test"), slog.New(slog.NewTextHandler(log, nil)))
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

func errorBody(t *testing.T, w *httptest.ResponseRecorder) proto.ErrorBody {
	t.Helper()
	var b proto.ErrorBody
	if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil {
		t.Fatalf("answer %q is not an error object: %v", w.Body, err)
	}
	if b.HTTPStatus != w.Code {
		t.Errorf("httpStatus is %d in the body, %d on the wire", b.HTTPStatus, w.Code)
	}
	if ct := w.Header().Get("Content-Type"); ct != "application/json" {
		t.Errorf("Content-Type is %q", ct)
	}
	return b
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body    string
		status  int
		message string
	}{
		"nothing":              {"", 400, "the body is empty: expected a JSON object"},
		"white space":          {" \n", 400, "the body is empty: expected a JSON object"},
		"no JSON":              {"xyz", 400, "malformed JSON at line 1, column 1: invalid character 'x' looking for beginning of value"},
		"second line":          {"{\"Name\": \"a\",\n  oops}", 400, "malformed JSON at line 2, column 3: invalid character 'o' looking for beginning of object key string"},
		"ends early":           {`{"Name": "a"`, 400, "malformed JSON: the body ends in the middle, after 12 bytes"},
		"trailing garbage":     {`{"Name": "a"} x`, 400, "malformed JSON at line 1, column 15: invalid character 'x' after top-level value"},
		"two objects":          {`{}{}`, 400, "malformed JSON at line 1, column 3: invalid character '{' after top-level value"},
		"null":                 {`null`, 400, "the body is null: expected a JSON object"},
		"a list":               {`[1]`, 400, "the body: expected an object, got array"},
		"a number for a text":  {`{"Name": 7}`, 400, "Name: expected a string, got number"},
		"a text for a number":  {`{"Count": "7"}`, 400, "Count: expected a whole number, got string"},
		"a fraction":           {`{"Count": 1.5}`, 400, "Count: expected a number in the range of uint8, got number 1.5"},
		"too large a number":   {`{"Count": 300}`, 400, "Count: expected a number in the range of uint8, got number 300"},
		"a field in a field":   {`{"Deep": {"On": 1}}`, 400, "Deep.On: expected true or false, got number"},
		"an object for a list": {`{"List": {}}`, 400, "List: expected a list, got object"},
		"not UTF-8":            {"{\"Name\": \"\xff\"}", 400, "the body is not UTF-8"},
		"too deep":             {`{"x":` + strings.Repeat("[", 11000) + strings.Repeat("]", 11000) + `}`, 400, "malformed JSON at line 1, column 10005: invalid character '[' exceeded max depth"},
		"too large":            {`{"Name": "` + strings.Repeat("a", 64<<10) + `"}`, 413, "the body is larger than 64 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serve(t, t.Output(), func(c echo.Context) error {
				return Decode(c, &thing{}, 64<<10)
			}, httptest.NewRequest("POST", "http://localhost/things/1", strings.NewReader(tc.body)))
			if b := errorBody(t, w); w.Code != tc.status || b.Message != tc.message {
				t.Errorf("got %d %q, want %d %q", w.Code, b.Message, tc.status, tc.message)
			}
		})
	}
}

func TestDecodeRefusesEncodings(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest("POST", "http://localhost/things/1", strings.NewReader("{}"))
	r.Header.Set("Content-Encoding", "gzip")
	w := serve(t, t.Output(), func(c echo.Context) error { return Decode(c, &thing{}, 100) }, r)
	if b := errorBody(t, w); w.Code != 400 || !strings.Contains(b.Message, "gzip") {
		t.Errorf("got %d %q", w.Code, b.Message)
	}
}

func TestDecodeTakes(t *testing.T) {
	t.Parallel()
	body := "\n {\"NAME\": \"a\", \"unknown\": {}, \"count\": 7, \"vals\": {\"n\": 9007199254740993}} \n"
	var got thing
	w := serve(t, t.Output(), func(c echo.Context) error {
		if err := Decode(c, &got, int64(len(body))); err != nil {
			return err
		}
		return Empty(c)
	}, httptest.NewRequest("POST", "http://localhost/things/1", strings.NewReader(body)))
	if w.Code != 200 || w.Body.Len() != 0 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	if got.Name != "a" || got.Count != 7 || got.Vals["n"] != int64(9007199254740993) {
		t.Errorf("got %+v", got)
	}
}

const someID = "ci2u6ncq1s7p0ljt3rcg"

func TestErrors(t *testing.T) {
	t.Parallel()
	unwell := &proto.Error{Code: proto.CodeUnavailable, Message: "no database", RetryAfter: 1500 * time.Millisecond, Err: errors.New("10.0.0.1 refused")}
	for name, tc := range map[string]struct {
		err        error
		status     int
		message    string
		requestID  string
		retryAfter string
		logged     string // "": nothing is
	}{
		"a conflict":           {proto.Errorf(proto.CodeConflict, "is FAIL").ForRequest("x"), 409, "is FAIL", "x", "", ""},
		"a wrapped one":        {fmt.Errorf("create: %w", proto.Errorf(proto.CodeUnprocessable, "no host")), 422, "no host", someID, "", ""},
		"unavailable":          {unwell, 503, "no database", someID, "2", "10.0.0.1 refused"},
		"unavailable, no hint": {proto.Errorf(proto.CodeUnavailable, "busy"), 503, "busy", someID, "1", ""},
		"unknown":              {errors.New("password is tiger"), 500, "internal error", someID, "", "password is tiger"},
		"out of time":          {fmt.Errorf("q: %w", context.DeadlineExceeded), 503, "it took too long: try again", someID, "1", "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			w := serve(t, &log, func(echo.Context) error { return tc.err }, httptest.NewRequest("GET", "http://localhost/things/"+someID, nil))
			b := errorBody(t, w)
			if w.Code != tc.status || b.Message != tc.message || b.RequestID != tc.requestID {
				t.Errorf("got %d %+v", w.Code, b)
			}
			if got := w.Header().Get("Retry-After"); got != tc.retryAfter {
				t.Errorf("Retry-After is %q, want %q", got, tc.retryAfter)
			}
			if (tc.logged == "") != (log.Len() == 0) || !strings.Contains(log.String(), tc.logged) {
				t.Errorf("logged %q, want %q in it", log.String(), tc.logged)
			}
		})
	}
}

func TestPanicIsAnsweredAndLoggedWithItsStack(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := serve(t, &log, func(c echo.Context) error {
		return c.NoContent([]int{}[len(c.Path())])
	}, httptest.NewRequest("GET", "http://localhost/things/1", nil))
	if b := errorBody(t, w); w.Code != 500 || b.Message != "internal error" {
		t.Errorf("got %d %q", w.Code, b.Message)
	}
	if !strings.Contains(log.String(), "index out of range") || !strings.Contains(log.String(), "httpjson_test.go") {
		t.Errorf("logged %s", log.String())
	}
}

func TestNoSuchPathOrMethod(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		method, path string
		status       int
		message      string
	}{
		{"GET", "/nothing", 404, "no such path: /nothing"},
		{"GET", "/", 404, "no such path: /"},
		{"DELETE", "/things/1", 405, "DELETE is not allowed here, only OPTIONS, GET, POST"},
	} {
		w := serve(t, t.Output(), Healthz, httptest.NewRequest(tc.method, "http://localhost"+tc.path, nil))
		if b := errorBody(t, w); w.Code != tc.status || b.Message != tc.message {
			t.Errorf("%s %s: got %d %q", tc.method, tc.path, w.Code, b.Message)
		}
	}
}

func TestValueThatJSONCannotCarryIsInternalError(t *testing.T) {
	t.Parallel()
	w := serve(t, io.Discard, func(c echo.Context) error {
		return JSON(c, 200, map[string]any{"f": func() {}})
	}, httptest.NewRequest("GET", "http://localhost/things/1", nil))
	if b := errorBody(t, w); w.Code != 500 || b.Message != "internal error" {
		t.Errorf("got %d %q", w.Code, b.Message)
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		secret, header string
		status         int
	}{
		"right":             {"s3", "Treadle s3", 200},
		"wrong":             {"s3", "Treadle s4", 401},
		"none":              {"s3", "", 401},
		"other scheme":      {"s3", "Bearer s3", 401},
		"prefix":            {"s3", "Treadle s", 401},
		"no secret is set":  {"", "", 200},
		"not set but given": {"", "Treadle s3", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("GET", "http://localhost/things/1", nil)
			r.Header.Set("Authorization", tc.header)
			if w := serve(t, t.Output(), Secret(tc.secret)(Healthz), r); w.Code != tc.status {
				t.Errorf("got %d, want %d", w.Code, tc.status)
			}
		})
	}
}

func TestMetricsAreByRouteAndNotByWhatCallersMakeUp(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	routes := []Route{
		{Method: "GET", Path: "/things/:id", Handle: Healthz},
		{Method: "GET", Path: "/metrics", Handle: Expose(registry)},
	}
	e := New(routes, Guard{}, NewMetrics(registry, "test"), slog.New(slog.NewTextHandler(t.Output(), nil)))
	call := func(method, path string) string {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path, nil))
		return w.Body.String()
	}
	call("GET", "/things/1")
	call("GET", "/things/2")
	call("GET", "/made/up")
	call("MADEUP", "/things/1")
	text := call("GET", "/metrics")
	for _, want := range []string{
		`treadle_http_requests_total{method="GET",route="/things/:id",service="test",status="200"} 2`,
		`treadle_http_requests_total{method="GET",route="none",service="test",status="404"} 1`,
		`treadle_http_request_seconds_count{method="GET",route="/things/:id",service="test"} 2`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %s", want)
		}
	}
	if strings.Contains(text, "MADEUP") || strings.Contains(text, "/made/up") {
		t.Errorf("callers make series:\n%s", text)
	}
}

func TestValidRequestID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		someID: true, "": false, someID + "a": false, someID[1:]: false,
		"CI2U6NCQ1S7P0LJT3RCG": false, "ci2u6ncq1s7p0ljt3rcw": false, "ci2u6ncq1s7p0ljt3r/.": false,
	} {
		if ValidRequestID(id) != want {
			t.Errorf("%q: want %v", id, want)
		}
	}
}
