package httpserve_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/internal/httpserve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server serves a handler whose calls wait for the gate. ended gets what Serve
// returns.
func server(t *testing.T) (addr string, entered <-chan struct{}, gate chan<- struct{}, end func(), ended <-chan error) {
	t.Helper()
	ln, err := httpserve.Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	in, open := make(chan struct{}, 10), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		in <- struct{}{}
		<-open
		_, _ = io.WriteString(w, "done")
	})
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- httpserve.Serve(ctx, ln, h, time.Minute, slog.New(slog.DiscardHandler)) }()
	return ln.Addr().String(), in, open, cancel, result
}

// get calls the server on a connection of its own.
func get(t *testing.T, addr string) (body string, err error) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr, nil)
	if err != nil {
		return "", err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// A call that is under way at the end gets its answer.
func TestCallsEndBeforeTheServer(t *testing.T) {
	t.Parallel()
	addr, entered, gate, end, ended := server(t)
	answer := make(chan string, 1)
	go func() {
		body, err := get(t, addr)
		if err != nil {
			body = err.Error()
		}
		answer <- body
	}()
	<-entered
	end()
	select {
	case err := <-ended:
		t.Fatalf("ended before the call: %v", err)
	case gate <- struct{}{}:
	}
	if got := <-answer; got != "done" {
		t.Errorf("the call got %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Connections that a client opened and did not use do not hold up the end.
func TestSilentConnectionsDoNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	addr, _, gate, end, ended := server(t)
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	close(gate)
	// Connections are accepted in turn: when this one is served, the other is there.
	if _, err := get(t, addr); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("the end took %s", took)
	}
}
