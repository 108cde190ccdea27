package run

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// heartbeat registers the runner and keeps its lease, on a goroutine of its own so
// that a busy runner does not look dead.
type heartbeat struct {
	runner *Runner
	every  time.Duration
	log    *slog.Logger
	beat   chan struct{}

	first chan struct{} // closed when the first lease is there

	mu    sync.Mutex
	until time.Time // the lease; zero before the first answer
}

// firstWait bounds awaitFirst.
const firstWait = 2 * time.Second

// awaitFirst waits for the first lease, a moment. A manager learns of a new runner
// by its first heartbeat and sends it chains at once: they may be here before the
// answer to that heartbeat is.
func (h *heartbeat) awaitFirst(ctx context.Context) {
	select {
	case <-h.first:
		return
	default:
	}
	t := time.NewTimer(firstWait)
	defer t.Stop()
	select {
	case <-h.first:
	case <-t.C:
	case <-ctx.Done():
	}
}

// now asks for a heartbeat at once.
func (h *heartbeat) now() {
	select {
	case h.beat <- struct{}{}:
	default:
	}
}

// leased reports whether the runner may run jobs.
func (h *heartbeat) leased() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Before(h.until)
}

func (h *heartbeat) run(ctx context.Context) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	expire := stoppedTimer()
	defer expire.Stop()
	answers := make(chan error, 1)
	lost, again := false, false
	h.send(ctx, answers)
	sending := true
	for {
		select {
		case err := <-answers:
			sending = false
			if err != nil {
				h.log.Warn("no answer to a heartbeat", "error", err)
			} else if lost {
				lost = false
				h.log.Info("a request manager answers again")
			}
			if left := h.left(); left > 0 {
				expire.Reset(left)
			}
			if again { // there is news since that one was sent
				h.now()
			}
		case <-tick.C:
			if !sending {
				h.send(ctx, answers)
				sending = true
			}
		case <-h.beat:
			if again = sending; !sending {
				h.send(ctx, answers)
				sending = true
			}
		case <-expire.C:
			if left := h.left(); left > 0 { // an answer came at this moment
				expire.Reset(left)
				break
			}
			lost = true
			n := h.runner.suspendAll("no request manager answered for the length of the lease", true, job.ErrLeaseLost)
			h.log.Error("the lease is over: no request manager answered; suspending all job chains", "chains", n)
		case <-ctx.Done():
			if sending {
				<-answers
			}
			return
		}
	}
}

func (h *heartbeat) left() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Until(h.until)
}

// send sends one heartbeat in a goroutine; the answer channel gets its error.
func (h *heartbeat) send(ctx context.Context, answers chan<- error) {
	go func() {
		ctx, cancel := context.WithTimeout(ctx, max(5*h.every, 2*time.Second))
		defer cancel()
		sentAt := time.Now()
		a, err := h.runner.cfg.RM.Heartbeat(ctx, h.runner.self())
		if err == nil {
			h.answered(sentAt, a)
		}
		answers <- err
	}()
}

func (h *heartbeat) answered(sentAt time.Time, a proto.HeartbeatAnswer) {
	h.mu.Lock()
	// The lease runs from when the heartbeat was sent: the RM noted it later.
	if until := sentAt.Add(time.Duration(a.Lease)); until.After(h.until) {
		h.until = until
	}
	until := h.until
	h.mu.Unlock()
	select {
	case <-h.first:
	default:
		defer close(h.first)
	}
	if leased := h.runner.cfg.Leased; leased != nil {
		leased(until)
	}
	h.runner.obey(a)
}
