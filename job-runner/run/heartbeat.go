package run

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// heartbeat registers the runner and keeps its lease, on a goroutine of its own so
// that a busy runner does not look dead.
type heartbeat struct {
	rm     RequestManager
	self   proto.Runner // as it registers, apart from its ID and what it has
	lease  *lease
	chains *chains
	every  time.Duration
	leased func(until time.Time) // see Config.Leased
	log    *slog.Logger
	wake   chan struct{}

	sent    uint64 // how many so far
	applied atomic.Uint64
}

func newHeartbeat(cfg Config, l *lease, c *chains, log *slog.Logger) *heartbeat {
	return &heartbeat{
		rm: cfg.RM, self: cfg.Self, lease: l, chains: c, every: cfg.HeartbeatEvery, leased: cfg.Leased,
		log: log, wake: make(chan struct{}, 1),
	}
}

// sendNow asks for a heartbeat at once.
func (h *heartbeat) sendNow() { wait.Nudge(h.wake) }

// run sends heartbeats until ctx ends, one at a time.
func (h *heartbeat) run(ctx context.Context) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	expire := stoppedTimer()
	defer expire.Stop()
	answers := make(chan error, 1)
	sending, again := h.send(ctx, answers), false
	for {
		select {
		case err := <-answers:
			sending = false
			if err != nil {
				h.log.Warn("no answer to a heartbeat", "error", err)
			}
			if left := h.lease.left(); left > 0 {
				expire.Reset(left)
			}
			if again { // something has changed since that one was sent
				h.sendNow()
			}
		case <-tick.C:
			sending = sending || h.send(ctx, answers)
		case <-h.wake:
			if again = sending; !sending {
				sending = h.send(ctx, answers)
			}
		case <-expire.C:
			if left := h.lease.left(); left > 0 { // an answer came at this moment
				expire.Reset(left)
				break
			}
			h.endLease("no request manager answered for the length of the lease")
		case <-ctx.Done():
			if sending {
				<-answers
			}
			return
		}
	}
}

// send sends one heartbeat in a goroutine; the answer channel gets its error. It
// reports false, and sends none, while what ran under an ended lease is not gone.
func (h *heartbeat) send(ctx context.Context, answers chan<- error) bool {
	id, ok := h.lease.renew(h.chains.load())
	if !ok {
		return false
	}
	h.sent++
	number, timeout := h.sent, h.lease.callTimeout(h.every)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		sentAt := time.Now()
		self := h.self
		self.ID, self.Beat, self.Applied = id, number, h.applied.Load()
		self.Running, self.Draining = h.chains.held(), !h.chains.accepting()
		a, err := h.rm.Heartbeat(ctx, self)
		switch {
		case err == nil:
			h.apply(id, number, sentAt, a)
		case proto.ErrorCode(err) == proto.CodeConflict:
			h.endLease("a request manager refused the heartbeat: " + err.Error())
		}
		answers <- err
	}()
	return true
}

// apply extends the lease and does what the answer to a heartbeat asks for, unless
// the lease has ended meanwhile.
func (h *heartbeat) apply(id string, number uint64, sentAt time.Time, a proto.HeartbeatAnswer) {
	until, ok := h.lease.extend(id, sentAt, time.Duration(a.Lease))
	if !ok {
		return
	}
	if h.leased != nil {
		h.leased(until)
	}
	h.chains.applyHeartbeat(a)
	h.applied.Store(max(h.applied.Load(), number)) // one heartbeat at a time is under way
}

// endLease ends the lease: all jobs are told to stop.
func (h *heartbeat) endLease(why string) {
	if !h.lease.end() {
		return
	}
	n := h.chains.suspendAll(command{why: why, patient: true, cause: job.ErrLeaseLost})
	h.log.Error("the lease expired: suspending all job chains", "why", why, "chains", n)
}
