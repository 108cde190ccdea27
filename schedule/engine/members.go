package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/store"
)

// members is the role that keeps this member among the others: it sends heartbeats and
// learns who else is live. It has terms: when it could not send a heartbeat for too long,
// others may have taken over its instances. Then it drops all of them, and comes back
// under a new ID.
type members struct {
	store      *store.Store
	clock      *clock
	log        *slog.Logger
	metrics    *metrics
	fetchNow   chan<- struct{}
	self       proto.Member // as configured
	heartbeat  time.Duration
	staleAfter time.Duration

	term   int
	shards atomic.Int64 // of all members, as the database says

	mu      sync.Mutex
	current proto.Member // of this term
	buckets []store.BucketRange
}

// margin is by how much a member stops earlier than others take over: for clocks that do
// not run alike, and for work that has to end.
func margin(staleAfter time.Duration) time.Duration { return staleAfter / 5 }

// id returns the ID of this member.
func (m *members) id() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current.ID
}

// ownBuckets returns the buckets of the shards of this member.
func (m *members) ownBuckets() []store.BucketRange {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.buckets)
}

// newTerm takes an ID that was never used.
func (m *members) newTerm() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.term++
	m.current, m.buckets = m.self, nil
	if m.term > 1 {
		m.current.ID = fmt.Sprintf("%s.%d", m.self.ID, m.term-1)
	}
}

// beat sends a heartbeat and learns which members are live. It returns when it was
// sent: the lease counts from then.
func (m *members) beat(ctx context.Context) (sent time.Time, err error) {
	m.mu.Lock()
	self := m.current
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, m.staleAfter)
	defer cancel()
	sent = time.Now()
	live, shards, now, err := m.store.MemberHeartbeat(ctx, self, m.staleAfter)
	if err != nil {
		return sent, err
	}
	m.clock.set(now, sent, time.Now())
	m.shards.Store(int64(shards))
	ids := memberIDs(live)
	if !slices.Contains(ids, self.ID) {
		ids = append(ids, self.ID)
	}
	buckets, count := shardsOf(self.ID, ids, shards)
	m.mu.Lock()
	moved := !slices.Equal(m.buckets, buckets)
	m.buckets = buckets
	m.mu.Unlock()
	m.metrics.members.Set(float64(len(ids)))
	m.metrics.shards.Set(float64(count))
	if moved {
		wait.Nudge(m.fetchNow)
	}
	return sent, nil
}

// join starts a term: it returns when the first heartbeat is stored, with the time from
// which the lease counts. It fails only if ctx ends.
func (m *members) join(ctx context.Context) (since time.Time, err error) {
	t := &trouble{log: m.log, msg: "the first heartbeat of a member of the schedule"}
	for failures := 1; ; failures++ {
		m.newTerm()
		since, err = m.beat(ctx)
		t.record(ctx, err)
		if err == nil {
			return since, nil
		}
		if err := wait.For(ctx, backoff(failures, m.heartbeat/4, m.heartbeat*2)); err != nil {
			return since, err
		}
	}
}

// keep sends heartbeats until ctx ends or the lease does; then it calls lost.
func (m *members) keep(ctx context.Context, since time.Time, lost context.CancelCauseFunc) {
	lease := m.staleAfter - margin(m.staleAfter)
	end := time.AfterFunc(time.Until(since.Add(lease)), func() { lost(errLeaseLost) })
	defer end.Stop()
	t := &trouble{log: m.log, msg: "heartbeat of a member of the schedule"}
	tick := time.NewTicker(m.heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		sent, err := m.beat(ctx)
		t.record(ctx, err)
		switch {
		case err == nil:
			// Not if it ended meanwhile: what was cut off does not come back.
			if ctx.Err() == nil {
				end.Reset(time.Until(sent.Add(lease)))
			}
		case errors.Is(err, store.ErrMemberGone):
			lost(errLeaseLost)
		}
	}
}

var errLeaseLost = errors.New("this member could not renew its lease: others may have taken over its instances")

// leave signs off: nothing of this term runs any more, so others go on at once.
func (m *members) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := m.store.MemberGone(ctx, m.id()); err != nil {
		m.log.Warn("this member could not sign off: others take over once its lease has expired", "error", err)
	}
}
