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

// hangingManager answers when the caller gives up, as one whose database stands
// still.
type hangingManager struct{ fakeManager }

func (m *hangingManager) Find(ctx context.Context, _ proto.RequestFilter) ([]proto.Request, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestUsersDoNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := New(Config{}, &hangingManager{}, &fakeScheduler{}, quiet(t))
		w := httptest.NewRecorder()
		begun := time.Now()
		api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/v1/requests", nil))
		if took := time.Since(begun); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || took != userTimeout {
			t.Errorf("answered %d, Retry-After %q, after %s; want 503 after %s", w.Code, w.Header().Get("Retry-After"), took, userTimeout)
		}
	})
}
