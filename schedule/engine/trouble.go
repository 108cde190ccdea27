package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// sayAgain is how often a role logs again that it is failing.
const sayAgain = time.Minute

// trouble logs what keeps a role from its work: at once, and then once a minute, not
// at every try.
type trouble struct {
	log *slog.Logger
	msg string

	mu    sync.Mutex
	since time.Time // zero while all is well
	said  time.Time
}

// record logs how a try went, if that is news.
func (t *trouble) record(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if err == nil {
		if !t.since.IsZero() {
			t.log.Info("recovered", "what", t.msg, "after", now.Sub(t.since).Round(time.Second))
		}
		t.since, t.said = time.Time{}, time.Time{}
		return
	}
	if t.since.IsZero() {
		t.since = now
	}
	if t.said.IsZero() || now.Sub(t.said) >= sayAgain {
		t.said = now
		t.log.Warn("is failing", "what", t.msg, "since", t.since, "error", err)
	}
}

// backoff is the wait after so many failures, 1 for the first: it doubles up to limit,
// give or take a quarter.
func backoff(failures int, first, limit time.Duration) time.Duration {
	d := limit
	if failures < 32 && first<<max(failures-1, 0) > 0 {
		d = min(first<<max(failures-1, 0), limit)
	}
	return d*3/4 + rand.N(d/2+1)
}

// every calls do once, and again after each interval or wake, until ctx ends. After a
// failure it waits longer, and is not woken.
func every(ctx context.Context, interval time.Duration, wake <-chan struct{}, t *trouble, do func(context.Context) error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failures := 0
	for {
		woken := wake
		if failures > 0 {
			woken = nil
		}
		select {
		case <-timer.C:
		case <-woken:
		case <-ctx.Done():
			return
		}
		err := do(ctx)
		t.record(ctx, err)
		if err == nil {
			failures = 0
			timer.Reset(interval)
			continue
		}
		failures++
		timer.Reset(backoff(failures, interval, max(interval, 15*time.Second)))
	}
}
