package request

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Heartbeat records that a runner lives and what it holds, and answers with its
// lease and with what it must stop, drop or refuse.
func (m *Manager) Heartbeat(ctx context.Context, r proto.Runner) (proto.HeartbeatAnswer, error) {
	answer := proto.HeartbeatAnswer{Lease: proto.Duration(m.cfg.Lease)}
	if err := m.identities.confirm(ctx, r); err != nil {
		return answer, err
	}
	drain, err := m.store.Heartbeat(ctx, r)
	if err != nil {
		return answer, storeError(err, "")
	}
	answer.Drain = drain
	held, err := m.store.HeldBy(ctx, r.ID)
	if err != nil {
		return answer, storeError(err, "")
	}
	r.Draining = r.Draining || drain // it will, once it has the answer
	m.fleet.record(r, time.Now())
	byID := make(map[string]int, len(held))
	for i, h := range held {
		byID[h.RequestID] = i
		if h.StopRequested {
			answer.Stop = append(answer.Stop, proto.RunningChain{RequestID: h.RequestID, Epoch: h.Epoch})
		}
	}
	has := make(map[string]bool, len(r.Running))
	for _, c := range r.Running {
		i, ok := byID[c.RequestID]
		if !ok || held[i].Epoch > c.Epoch {
			answer.Drop = append(answer.Drop, c)
			continue
		}
		has[c.RequestID] = true
	}
	answer.Refuse, err = m.missing.compare(ctx, r, held, has)
	return answer, storeError(err, "")
}

// Runners returns all registered runners.
func (m *Manager) Runners(ctx context.Context) ([]proto.Runner, error) {
	runners, err := m.store.Runners(ctx)
	return runners, storeError(err, "")
}

// HostUp reports whether a runner on the host accepts job chains, be it full.
func (m *Manager) HostUp(host string) bool { return m.fleet.hasRunner(host) }

// Drain asks a runner, by id or URL, to hand back its job chains and accept no new
// ones, or to accept job chains again. The runner applies it with its next
// heartbeat.
func (m *Manager) Drain(ctx context.Context, runner string, drain bool) error {
	err := storeError(m.store.RequestDrain(ctx, runner, drain), "")
	if proto.ErrorCode(err) == proto.CodeNotFound {
		return proto.Errorf(proto.CodeNotFound, "no job runner with the id or URL %q", runner)
	}
	return err
}
