package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// membership is what a member knows of itself and of the others. It has terms: when
// it could not say for too long that it lives, others may have taken what it had. It
// drops all of it then, and comes back under a new ID.
type membership struct {
	e    *Engine
	term int

	shards atomic.Int64 // of all members, as the database says

	mu      sync.Mutex
	node    proto.Node // of this term
	buckets []store.BucketRange
}

// margin is by how much a member gives up earlier than others take over: for clocks
// that do not run alike, and for what has to end.
func (m *membership) margin() time.Duration { return m.e.cfg.StaleAfter / 5 }

// tolerance is by how much the database's clock may seem to move, see clock.set.
func (m *membership) tolerance() time.Duration { return m.margin() / 3 }

// mine returns the ID and the buckets of this member.
func (m *membership) mine() (id string, buckets []store.BucketRange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node.ID, slices.Clone(m.buckets)
}

// newTerm takes an ID that was never used.
func (m *membership) newTerm() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.term++
	m.node, m.buckets = m.e.cfg.Node, nil
	if m.term > 1 {
		m.node.ID = fmt.Sprintf("%s.%d", m.e.cfg.Node.ID, m.term-1)
	}
}

// beat tells the database that the member lives, and learns who else does. It returns
// when it was sent: the right to work counts from then.
func (m *membership) beat(ctx context.Context) (sent time.Time, err error) {
	m.mu.Lock()
	node := m.node
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, m.e.cfg.StaleAfter)
	defer cancel()
	sent = time.Now()
	live, shards, now, err := m.e.store.NodeHeartbeat(ctx, node, m.e.cfg.StaleAfter)
	if err != nil {
		return sent, err
	}
	m.e.clock.set(now, sent, time.Now(), m.tolerance())
	m.shards.Store(int64(shards))
	ids := nodeIDs(live)
	if !slices.Contains(ids, node.ID) {
		ids = append(ids, node.ID)
	}
	buckets, count := shardsOf(node.ID, ids, shards)
	m.mu.Lock()
	moved := !slices.Equal(m.buckets, buckets)
	m.buckets = buckets
	m.mu.Unlock()
	m.e.metrics.members.Set(float64(len(ids)))
	m.e.metrics.shards.Set(float64(count))
	if moved {
		wait.Nudge(m.e.fetchWake)
	}
	return sent, nil
}

// join begins a term: it returns when the first heartbeat was stored, and since when
// the member may work. It fails only if ctx ends.
func (m *membership) join(ctx context.Context) (since time.Time, err error) {
	t := &trouble{log: m.e.log, msg: "the first heartbeat of a member of the schedule"}
	for failures := 1; ; failures++ {
		m.newTerm()
		since, err = m.beat(ctx)
		t.saw(ctx, err)
		if err == nil {
			return since, nil
		}
		if err := wait.For(ctx, backoff(failures, m.e.cfg.Heartbeat/4, m.e.cfg.Heartbeat*2)); err != nil {
			return since, err
		}
	}
}

// keep sends heartbeats until ctx ends or the right to work does; then it calls lost.
func (m *membership) keep(ctx context.Context, since time.Time, lost context.CancelCauseFunc) {
	right := m.e.cfg.StaleAfter - m.margin()
	end := time.AfterFunc(time.Until(since.Add(right)), func() { lost(errLeaseLost) })
	defer end.Stop()
	t := &trouble{log: m.e.log, msg: "heartbeat of a member of the schedule"}
	tick := time.NewTicker(m.e.cfg.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		sent, err := m.beat(ctx)
		t.saw(ctx, err)
		switch {
		case err == nil:
			// Not if it ended meanwhile: what was cut off does not come back.
			if ctx.Err() == nil {
				end.Reset(time.Until(sent.Add(right)))
			}
		case errors.Is(err, store.ErrNodeGone):
			lost(errLeaseLost)
		}
	}
}

var errLeaseLost = errors.New("this member could not say for too long that it lives: others may have taken over")

// leave says that nothing of this term runs any more, so that others go on at once.
func (m *membership) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	id, _ := m.mine()
	if err := m.e.store.NodeGone(ctx, id); err != nil {
		m.e.log.Warn("cannot say that this member is gone: others will find out", "error", err)
	}
}
