package httpclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a server that gives its answers in turn, the last one for ever.
func service(t *testing.T, answers ...http.HandlerFunc) (url string, calls *atomic.Int32) {
	t.Helper()
	calls = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(calls.Add(1))
		answers[min(n, len(answers))-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// cut ends the connection without an answer.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func dial(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.Service = "loom"
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

func TestErrorsSayWhatWentWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer  http.HandlerFunc
		code    proto.Code
		message string // URL stands for the address
	}{
		"an error object":   {answer(409, `{"message":"is FAIL","httpStatus":409}`), proto.CodeConflict, "is FAIL"},
		"text":              {answer(502, "<html>bad gateway"), proto.CodeUnavailable, "the loom at URL answered 502 Bad Gateway"},
		"JSON of others":    {answer(404, `{"error":"x"}`), proto.CodeNotFound, "the loom at URL answered 404 Not Found"},
		"a redirect":        {answer(302, "", "Location: http://127.0.0.1:1/"), proto.CodeInternal, "the loom at URL answered 302 Found"},
		"a broken success":  {answer(200, `{"a":`), proto.CodeInternal, "the loom at URL gave an answer that is not understood"},
		"no answer":         {cut, proto.CodeUnavailable, "cannot reach the loom at URL"},
		"half an answer":    {answer(200, `{`, "Content-Length: 100"), proto.CodeUnavailable, "cannot reach the loom at URL"},
		"an error, no text": {answer(503, `{"message":""}`), proto.CodeUnavailable, "the loom at URL answered 503 Service Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, calls := service(t, tc.answer)
			var out map[string]any
			err := dial(t, Config{}).Do(t.Context(), Call{Method: "POST", Base: url, Path: "/x", Body: []byte("{}"), Out: &out})
			e, ok := errors.AsType[*proto.Error](err)
			if !ok || e.Code != tc.code || e.Message != strings.ReplaceAll(tc.message, "URL", url) {
				t.Errorf("got %#v", err)
			}
			if calls.Load() != 1 {
				t.Errorf("called %d times: a call that may not be repeated was", calls.Load())
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	err = dial(t, Config{}).Do(t.Context(), Call{Method: "GET", Base: url, Path: "/x"})
	e, ok := errors.AsType[*proto.Error](err)
	if !ok || e.Code != proto.CodeUnavailable || e.Message != "cannot reach the loom at "+url {
		t.Errorf("got %#v", err)
	}
	if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestRepeatableCallsAreRepeatedWhileItMayPass(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answers []http.HandlerFunc
		calls   int32
		code    proto.Code // "" for success
	}{
		"cut, then well":         {[]http.HandlerFunc{cut, answer(200, `{}`)}, 2, ""},
		"503, then well":         {[]http.HandlerFunc{answer(503, ``), answer(503, ``), answer(200, `{}`)}, 3, ""},
		"a conflict does not":    {[]http.HandlerFunc{answer(409, ``), answer(200, `{}`)}, 1, proto.CodeConflict},
		"an internal error, too": {[]http.HandlerFunc{answer(500, ``), answer(200, `{}`)}, 1, proto.CodeInternal},
		"not for ever":           {[]http.HandlerFunc{answer(503, ``)}, tries, proto.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, calls := service(t, tc.answers...)
			var out map[string]any
			err := dial(t, Config{}).Do(t.Context(), Call{Method: "POST", Base: url, Path: "/x", Body: map[string]int{"a": 1}, Out: &out, Repeat: true})
			if (err == nil) != (tc.code == "") || (err != nil && proto.ErrorCode(err) != tc.code) {
				t.Errorf("got %v", err)
			}
			if calls.Load() != tc.calls {
				t.Errorf("called %d times, want %d", calls.Load(), tc.calls)
			}
		})
	}
}

// TestWaitsAsLongAsTheServiceAsks runs in virtual time.
func TestWaitsAsLongAsTheServiceAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		waits := []time.Duration{2 * time.Second, time.Hour, 0}
		err := retry(t.Context(), func() error {
			at = append(at, time.Since(start))
			if len(at) > 2 {
				return nil
			}
			return &proto.Error{Code: proto.CodeUnavailable, RetryAfter: waits[len(at)-1]}
		})
		// An hour is more than a caller would wait.
		want := []time.Duration{0, 2 * time.Second, 2*time.Second + maxWait}
		if err != nil || !slices.Equal(at, want) {
			t.Errorf("called at %v, want %v (%v)", at, want, err)
		}
	})
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err := retry(ctx, func() error {
			return &proto.Error{Code: proto.CodeUnavailable, Message: "away", RetryAfter: 4 * time.Second}
		})
		if took := time.Since(start); took != time.Second || proto.ErrorCode(err) != proto.CodeUnavailable {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

func TestATryIsBounded(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	url, _ := service(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	err := dial(t, Config{Timeout: 20 * time.Millisecond}).Do(t.Context(), Call{Method: "GET", Base: url, Path: "/x"})
	e, ok := errors.AsType[*proto.Error](err)
	if !ok || e.Code != proto.CodeUnavailable || e.Message != "the loom at "+url+" did not answer in time" {
		t.Errorf("got %v", err)
	}
}

func TestCancelledCallsSaySo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	url, _ := service(t, func(http.ResponseWriter, *http.Request) { cancel(); <-release })
	defer close(release)
	err := dial(t, Config{}).Do(ctx, Call{Method: "GET", Base: url, Path: "/x", Repeat: true})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCallsSayWhoCalls(t *testing.T) {
	t.Parallel()
	url, _ := service(t, func(w http.ResponseWriter, r *http.Request) {
		h := r.Header
		fmt.Fprintf(w, "%q", strings.Join([]string{h.Get("Authorization"), h.Get("X-Who"), h.Get("Content-Type"), r.URL.RawQuery}, "|"))
	})
	c := dial(t, Config{Secret: "s3", User: "ann", UserHeader: "X-Who"})
	var got string
	err := c.Do(t.Context(), Call{Method: "POST", Base: url + "/", Path: "/x", Query: map[string][]string{"a": {"b c"}}, Body: []byte("{}"), Out: &got})
	if want := "Treadle s3|ann|application/json|a=b+c"; err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	var addrs []string
	url, _ := service(t, func(_ http.ResponseWriter, r *http.Request) { addrs = append(addrs, r.RemoteAddr) })
	c := dial(t, Config{})
	for range 5 {
		if err := c.Do(t.Context(), Call{Method: "POST", Base: url, Path: "/x", Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(slices.Compact(addrs)); n != 1 {
		t.Errorf("5 calls took %d connections", n)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	url, _ := service(t, answer(200, ": alive\n\nevent: x\ndata: 1\n\ndata: 2\n\n: alive\n\nother: 3\n"))
	var got []string
	err := dial(t, Config{}).Events(t.Context(), Call{Method: "GET", Base: url, Path: "/x"}, func(data []byte) error {
		got = append(got, string(data))
		return nil
	})
	if err != nil || !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEventsThatBreakAreAnError(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		code   proto.Code
	}{
		"refused": {answer(404, `{"message":"no such thing"}`), proto.CodeNotFound},
		"cut":     {answer(200, "data: 1\n", "Content-Length: 100"), proto.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := service(t, tc.answer)
			err := dial(t, Config{}).Events(t.Context(), Call{Method: "GET", Base: url, Path: "/x"}, func([]byte) error { return nil })
			if proto.ErrorCode(err) != tc.code {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestASilentStreamIsTakenForDead has a service that is frozen after one event.
func TestASilentStreamIsTakenForDead(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	url, _ := service(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush() // a server's writer always can
		<-release
	})
	defer close(release)
	c := dial(t, Config{})
	c.silence = 50 * time.Millisecond
	var got int
	err := c.Events(t.Context(), Call{Method: "GET", Base: url, Path: "/x"}, func([]byte) error { got++; return nil })
	if got != 1 || proto.ErrorCode(err) != proto.CodeUnavailable {
		t.Errorf("got %d events, %v", got, err)
	}
}
