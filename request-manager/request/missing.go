package request

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// handOverTime is how long a chain may be on its way to a runner that does not
// count its heartbeats before it is believed when it says that it does not have
// the chain: longer than all tries to deliver it take.
func (c *Config) handOverTime() time.Duration {
	return time.Duration(c.RunnerTries)*(c.DeliveryTimeout+c.RunnerRetryWait) + 10*time.Second
}

// deliveryTime is what each job of a chain adds to the time that the chain may be
// on its way before its runner is told to refuse it.
const deliveryTime = 500 * time.Microsecond

// forbidden is a chain that a runner was told to refuse, since it does not have it.
type forbidden struct {
	runnerID string
	epoch    uint64
	beat     uint64 // the heartbeat whose answer said so
}

// maxForbidden is how many are remembered.
const maxForbidden = 10_000

// compare takes in what a runner holds as the store and the runner itself say. It
// returns what the runner must refuse from now on: chains that were handed over to
// it and that it does not have, which may be on their way still. When it has
// obeyed, they are recovered.
func (r *recoverer) compare(ctx context.Context, runner proto.Runner, held []store.Held, has map[string]bool) ([]proto.RunningChain, error) {
	var missing []store.Held
	for _, h := range held {
		if !has[h.RequestID] {
			missing = append(missing, h)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	now, err := r.m.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var refuse []proto.RunningChain
	for _, h := range missing {
		since := now.Sub(h.Since)
		switch f := r.forbids[h.RequestID]; {
		case since <= r.m.cfg.HeartbeatTimeout+time.Duration(h.TotalJobs)*deliveryTime && since >= 0:
			// It is about to come.
		case f.runnerID == runner.ID && f.epoch == h.Epoch && runner.Applied >= f.beat,
			runner.Beat == 0 && since > r.m.cfg.handOverTime():
			delete(r.forbids, h.RequestID)
			if r.missing == nil {
				r.missing = map[string]store.Held{}
			}
			r.missing[h.RequestID] = h
			wait.Nudge(r.wake)
		case runner.Beat > 0:
			refuse = append(refuse, proto.RunningChain{RequestID: h.RequestID, Epoch: h.Epoch})
			if f.runnerID != runner.ID || f.epoch != h.Epoch {
				r.forbid(h, runner)
			}
		}
	}
	return refuse, nil
}

func (r *recoverer) forbid(h store.Held, runner proto.Runner) {
	if r.forbids == nil || len(r.forbids) >= maxForbidden {
		r.forbids = map[string]forbidden{} // who is forgotten is told again
	}
	r.forbids[h.RequestID] = forbidden{runner.ID, h.Epoch, runner.Beat}
}

func (r *recoverer) takeMissing() map[string]store.Held {
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := r.missing
	r.missing = nil
	return missing
}
