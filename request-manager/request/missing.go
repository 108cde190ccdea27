package request

import (
	"context"
	"sync"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// deliveryTime is what each job of a chain adds to the time that the chain may be
// on its way before its runner is told to refuse it.
const deliveryTime = 500 * time.Microsecond

// maxForbidden is how many forbidden chains are remembered.
const maxForbidden = 10_000

// missingChains finds chains that were handed over to a runner which does not have
// them: they were lost on the way. A chain is missing once its runner has confirmed
// that it would refuse it, so that it cannot arrive late.
type missingChains struct {
	now          func(context.Context) (time.Time, error) // the database's clock
	arrival      time.Duration                            // for a chain to arrive and be in a heartbeat
	handOverTime time.Duration                            // for all tries to deliver a chain
	recover      chan<- struct{}                          // woken when a chain is missing

	mu        sync.Mutex
	missing   map[string]store.Held // by request id
	forbidden map[string]forbidden  // by request id
}

// forbidden is a chain that a runner was told to refuse, since it does not have it.
type forbidden struct {
	runnerID string
	epoch    uint64
	beat     uint64 // the heartbeat whose answer said so
}

// compare compares what a runner holds according to the store with what it has
// according to itself. It returns what the runner must refuse from now on: chains
// that were handed over to it and that it does not have, which may still be on
// their way. Once it has applied that, they are recovered.
func (x *missingChains) compare(ctx context.Context, runner proto.Runner, held []store.Held, has map[string]bool) ([]proto.RunningChain, error) {
	var absent []store.Held
	for _, h := range held {
		if !has[h.RequestID] {
			absent = append(absent, h)
		}
	}
	if len(absent) == 0 {
		return nil, nil
	}
	now, err := x.now(ctx)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var refuse []proto.RunningChain
	for _, h := range absent {
		since := now.Sub(h.Since)
		switch f := x.forbidden[h.RequestID]; {
		case since <= x.arrival+time.Duration(h.TotalJobs)*deliveryTime && since >= 0:
			// It is about to arrive.
		case f.runnerID == runner.ID && f.epoch == h.Epoch && runner.Applied >= f.beat,
			runner.Beat == 0 && since > x.handOverTime:
			delete(x.forbidden, h.RequestID)
			if x.missing == nil {
				x.missing = map[string]store.Held{}
			}
			x.missing[h.RequestID] = h
			wait.Nudge(x.recover)
		case runner.Beat > 0:
			refuse = append(refuse, proto.RunningChain{RequestID: h.RequestID, Epoch: h.Epoch})
			if f.runnerID != runner.ID || f.epoch != h.Epoch {
				x.forbid(h, runner)
			}
		}
	}
	return refuse, nil
}

func (x *missingChains) forbid(h store.Held, runner proto.Runner) {
	if x.forbidden == nil || len(x.forbidden) >= maxForbidden {
		x.forbidden = map[string]forbidden{} // a runner whose chain is forgotten is told again
	}
	x.forbidden[h.RequestID] = forbidden{runner.ID, h.Epoch, runner.Beat}
}

// take returns what is missing, and forgets it.
func (x *missingChains) take() map[string]store.Held {
	x.mu.Lock()
	defer x.mu.Unlock()
	missing := x.missing
	x.missing = nil
	return missing
}
