package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const someID = "ci2u6ncq1s7p0ljt3rcg"

// TestOnlyHarmlessCallsAreRepeated has a manager that cuts the first connection: a
// call that is repeated succeeds, any other fails.
func TestOnlyHarmlessCallsAreRepeated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do       func(ctx context.Context, c *Client) error
		repeated bool
	}{
		"create with a key": {func(ctx context.Context, c *Client) error {
			_, err := c.CreateRequest(ctx, proto.CreateRequest{Type: "x"}, "k")
			return err
		}, true},
		"create without a key": {func(ctx context.Context, c *Client) error {
			_, err := c.CreateRequest(ctx, proto.CreateRequest{Type: "x"}, "")
			return err
		}, false},
		"get":  {func(ctx context.Context, c *Client) error { _, err := c.GetRequest(ctx, someID); return err }, true},
		"stop": {func(ctx context.Context, c *Client) error { return c.StopRequest(ctx, someID) }, false},
		"report": {func(ctx context.Context, c *Client) error {
			_, err := c.Report(ctx, proto.Report{})
			return err
		}, false},
		"heartbeat": {func(ctx context.Context, c *Client) error {
			_, err := c.Heartbeat(ctx, proto.Runner{})
			return err
		}, false},
		"drain": {func(ctx context.Context, c *Client) error { return c.Drain(ctx, "r1", true) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) == 1 {
					panic(http.ErrAbortHandler)
				}
				_, _ = w.Write([]byte("{}"))
			}))
			defer s.Close()
			c := New(Config{URL: s.URL})
			defer c.Close()
			err := tc.do(t.Context(), c)
			if (err == nil) != tc.repeated {
				t.Errorf("got %v", err)
			}
			if err != nil && (proto.ErrorCode(err) != proto.CodeUnavailable || calls.Load() != 1) {
				t.Errorf("got %v after %d calls", err, calls.Load())
			}
			if e, ok := errors.AsType[*proto.Error](err); ok && e.Message != "cannot reach the request manager at "+s.URL {
				t.Errorf("got %q", e.Message)
			}
		})
	}
}

func TestWatchEndsAtOnceWhenItsContextHas(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	s.Close()
	c := New(Config{URL: s.URL})
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Watch(ctx, someID, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
