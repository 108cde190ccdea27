package request

import (
	"context"
	"errors"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// Start has a PENDING request sent at once. Requests are sent without it, too: the
// call exists for clients of the v1 API.
func (m *Manager) Start(ctx context.Context, id string) error {
	r, err := m.store.Request(ctx, id)
	if err != nil {
		return storeError(err, id)
	}
	if r.State != proto.StatePending {
		return proto.Errorf(proto.CodeConflict, "the request is %s; only a PENDING request can be started", r.State).ForRequest(id)
	}
	m.dispatcher.enqueue(pendingRequest{id: id, epoch: r.Epoch, host: r.Host})
	return nil
}

// Stop records that the request must end STOPPED. PENDING and SUSPENDED
// requests end at once. The runner of a RUNNING one is asked to stop it; if it cannot
// be reached, it is asked again with each of its heartbeats. Stopping a STOPPED
// request is harmless.
func (m *Manager) Stop(ctx context.Context, id string) error {
	s, err := m.store.Stop(ctx, id)
	if errors.Is(err, store.ErrNotUpdated) {
		if s.State == proto.StateStopped {
			return nil
		}
		return proto.Errorf(proto.CodeConflict, "the request is %s already", s.State).ForRequest(id)
	}
	if err != nil {
		return storeError(err, id)
	}
	m.changes.mayHaveEnded(id)
	if s.State == proto.StateStopped {
		m.metrics.ended.WithLabelValues(proto.StateStopped.String()).Inc()
	}
	if s.State != proto.StateRunning || s.URL == "" {
		return nil
	}
	// The user does not wait for a runner that hangs.
	ctx, cancel := context.WithTimeout(ctx, m.cfg.StatusTimeout)
	defer cancel()
	err = m.cfg.Runners.StopChain(ctx, s.URL, id)
	if err != nil && proto.ErrorCode(err) != proto.CodeNotFound {
		m.log.Warn("cannot reach the job runner to stop the request; the answer to its next heartbeat asks it to stop", "request", id, "runner", s.RunnerID, "error", err)
	}
	return nil
}
