package api

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// watched is a request that changes when told to, and says so or not.
type watched struct {
	mu       sync.Mutex
	state    proto.State
	err      error
	changed  chan struct{}
	released int
}

func (w *watched) services() Services { return Services{Watcher: w} }

func (w *watched) Get(context.Context, string) (proto.Request, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := someRequest()
	r.State = w.state
	return r, w.err
}

func (w *watched) Changed(string) (<-chan struct{}, func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.released++
	}
}

func (w *watched) set(s proto.State, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state, w.err = s, err
}

// events names what a stream brought: the states of requests, and "alive".
func events(body string) string {
	var out []string
	for _, block := range strings.Split(body, "\n\n") {
		switch {
		case block == ": alive":
			out = append(out, "alive")
		case strings.HasPrefix(block, "event: request\ndata: {\"id\":\""+someID):
			_, after, _ := strings.Cut(block, `"state":`)
			out = append(out, after[:1])
		case block != "":
			out = append(out, "?"+block)
		}
	}
	return strings.Join(out, " ")
}

// stream opens a stream that ends with ctx and returns what it brought when it has
// ended. It must run in a synctest bubble.
func stream(ctx context.Context, t *testing.T, cfg Config, f fake) (end func() *httptest.ResponseRecorder) {
	api := New(cfg, f.services(), quiet(t))
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		api.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "http://localhost/api/v1/requests/"+someID+"/events", nil))
	}()
	synctest.Wait()
	return func() *httptest.ResponseRecorder { <-done; return w }
}

func TestStreamBringsEachChangeAndEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &watched{state: proto.StatePending, changed: make(chan struct{}, 1)}
		end := stream(t.Context(), t, Config{}, r)
		start := time.Now()
		for _, s := range []proto.State{proto.StateRunning, proto.StateRunning, proto.StateComplete} {
			r.set(s, nil)
			r.changed <- struct{}{}
			synctest.Wait()
		}
		w := end()
		if got := events(w.Body.String()); got != "1 2 3" {
			t.Errorf("got %q", got)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("changes that were told of took %v", took)
		}
		if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || !w.Flushed {
			t.Errorf("got %d %v", w.Code, w.Header())
		}
		if r.released != 1 {
			t.Errorf("released %d times", r.released)
		}
	})
}

func TestStreamSeesChangesThatNobodyTellsItOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &watched{state: proto.StateRunning, changed: make(chan struct{})}
		end := stream(t.Context(), t, Config{}, r)
		time.AfterFunc(40*time.Second, func() { r.set(proto.StateFail, nil) })
		start := time.Now()
		if got := events(end().Body.String()); got != "2 alive alive 4" {
			t.Errorf("got %q", got)
		}
		if took := time.Since(start); took > 43*time.Second {
			t.Errorf("seen after %v", took)
		}
	})
}

func TestStreamOutlivesADatabaseThatIsUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &watched{state: proto.StateRunning, changed: make(chan struct{})}
		end := stream(t.Context(), t, Config{}, r)
		r.set(proto.StateUnknown, errors.New("unavailable"))
		time.AfterFunc(10*time.Second, func() { r.set(proto.StateComplete, nil) })
		if got := events(end().Body.String()); got != "2 3" {
			t.Errorf("got %q", got)
		}
	})
}

func TestStreamListensAnewWhenItsChannelIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := make(chan struct{})
		r := &watched{state: proto.StateRunning, changed: first}
		end := stream(t.Context(), t, Config{}, r)
		r.mu.Lock()
		r.changed, r.state = make(chan struct{}, 1), proto.StateSuspended
		r.mu.Unlock()
		close(first)
		synctest.Wait()
		r.set(proto.StateStopped, nil)
		r.changed <- struct{}{}
		if got := events(end().Body.String()); got != "2 7 6" {
			t.Errorf("got %q", got)
		}
		if r.released != 2 {
			t.Errorf("released %d times", r.released)
		}
	})
}

func TestStreamEndsWithItsCallerAndWithTheService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &watched{state: proto.StateRunning, changed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		end := stream(ctx, t, Config{}, r)
		cancel()
		end()
		closing := make(chan struct{})
		end = stream(t.Context(), t, Config{Closing: closing}, r)
		close(closing)
		if got := events(end().Body.String()); got != "2" {
			t.Errorf("got %q", got)
		}
		if r.released != 2 {
			t.Errorf("released %d times", r.released)
		}
	})
}

func TestStreamOfNoRequestIsAnError(t *testing.T) {
	t.Parallel()
	r := &watched{err: proto.Errorf(proto.CodeNotFound, "no request with that id"), changed: make(chan struct{})}
	w := call(t, Config{}, r, "GET", "/api/v1/requests/"+someID+"/events", "")
	if w.Code != 404 || r.released != 1 {
		t.Errorf("got %d %s, released %d times", w.Code, w.Body, r.released)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &watched{state: proto.StateRunning, changed: make(chan struct{})}
		api := New(Config{Watchers: 1}, r.services(), quiet(t))
		ctx, cancel := context.WithCancel(t.Context())
		open := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			api.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "http://localhost/api/v1/requests/"+someID+"/events", nil))
			return w
		}
		done := make(chan struct{})
		go func() { defer close(done); open() }()
		synctest.Wait()
		if w := open(); w.Code != 503 || w.Header().Get("Retry-After") != "5" {
			t.Errorf("the second got %d", w.Code)
		}
		cancel()
		<-done
	})
}
