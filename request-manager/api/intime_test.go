package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// hangingReader answers when the caller no longer waits, as one whose database
// hangs.
type hangingReader struct{ Reader }

func (hangingReader) Find(ctx context.Context, _ proto.RequestFilter) ([]proto.Request, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestUsersDoNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := New(Config{}, Services{Reader: hangingReader{}}, quiet(t))
		w := httptest.NewRecorder()
		start := time.Now()
		api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/v1/requests", nil))
		if took := time.Since(start); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || took != userTimeout {
			t.Errorf("answered %d, Retry-After %q, after %s; want 503 after %s", w.Code, w.Header().Get("Retry-After"), took, userTimeout)
		}
	})
}
