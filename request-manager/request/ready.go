package request

import (
	"context"
	"hash/fnv"
	"time"

	"github.com/treadle-run/treadle/request-manager/store"
)

const (
	// readyTimeout bounds the answer of the database when a load balancer asks whether
	// the manager is ready: these do not wait long.
	readyTimeout = 2 * time.Second
	// readyFor is how long an answer holds: anybody may ask, and each probe is a write.
	readyFor = time.Second
)

// readiness finds out whether requests can be stored, by storing something.
type readiness struct {
	probe func(ctx context.Context) error
	turn  chan struct{} // taken by the one that probes, or reads the last answer
	at    time.Time     // of the last answer
	last  error
}

func newReadiness(s *store.Store, managerID string) *readiness {
	h := fnv.New32a()
	_, _ = h.Write([]byte(managerID)) // never fails
	slot := uint(h.Sum32())
	return &readiness{
		probe: func(ctx context.Context) error { return s.ProbeWrite(ctx, slot) },
		turn:  make(chan struct{}, 1),
	}
}

// check returns the last answer if it is new, else a new one. Those that ask meanwhile
// get the same.
func (r *readiness) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !r.at.IsZero() && time.Since(r.at) < readyFor {
		return r.last
	}
	// Whoever asks may go away; the others want the answer, too.
	ctx, cancelProbe := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancelProbe()
	r.last = r.probe(ctx)
	r.at = time.Now()
	return r.last
}

// Ready says whether requests can be stored, and why not.
func (m *Manager) Ready(ctx context.Context) error {
	return storeError(m.readiness.check(ctx), "")
}
