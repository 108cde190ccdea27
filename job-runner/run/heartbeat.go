package run

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// heartbeat registers the runner and keeps its lease, on a goroutine of its own so
// that a busy runner does not look dead.
//
// A lease that has ended is not renewed: managers may have given the runner up,
// and what they hand over under its ID may come late. Once nothing of it runs any
// more, the runner registers again under another ID.
type heartbeat struct {
	runner *Runner
	every  time.Duration
	log    *slog.Logger
	beat   chan struct{}

	mu    sync.Mutex
	lease lease
	first chan struct{} // closed when the lease is there
	beats uint64        // sent so far
	// obeyed is the last heartbeat whose answer was obeyed.
	obeyed uint64
}

// lease is the right to run jobs, under an ID.
type lease struct {
	id     string
	number int           // of the leases before it
	length time.Duration // as the RM said last
	until  time.Time     // zero before the first answer
	over   time.Time     // since when it is known to have ended; zero if it has not
}

func newHeartbeat(r *Runner, every time.Duration) *heartbeat {
	return &heartbeat{
		runner: r, every: every, log: r.log, beat: make(chan struct{}, 1),
		lease: lease{id: r.cfg.Self.ID}, first: make(chan struct{}),
	}
}

// firstWait bounds awaitFirst.
const firstWait = 2 * time.Second

// awaitFirst waits for a lease that the runner has just asked for, a moment. A
// manager learns of a runner by its first heartbeat and sends it chains at once:
// they may be here before the answer to that heartbeat is.
func (h *heartbeat) awaitFirst(ctx context.Context) {
	h.mu.Lock()
	first, over := h.first, !h.lease.over.IsZero()
	h.mu.Unlock()
	if over {
		return
	}
	select {
	case <-first:
		return
	default:
	}
	t := time.NewTimer(firstWait)
	defer t.Stop()
	select {
	case <-first:
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

// id is the ID that the runner has now.
func (h *heartbeat) id() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.id
}

// leased reports whether the runner may run jobs.
func (h *heartbeat) leased() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.valid()
}

func (l *lease) valid() bool { return l.over.IsZero() && time.Now().Before(l.until) }

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
			if left := h.left(); left > 0 {
				expire.Reset(left)
			}
			if again { // there is news since that one was sent
				h.now()
			}
		case <-tick.C:
			sending = sending || h.send(ctx, answers)
		case <-h.beat:
			if again = sending; !sending {
				sending = h.send(ctx, answers)
			}
		case <-expire.C:
			if left := h.left(); left > 0 { // an answer came at this moment
				expire.Reset(left)
				break
			}
			h.end("no request manager answered for the length of the lease")
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
	if !h.lease.over.IsZero() {
		return 0
	}
	return time.Until(h.lease.until)
}

// end ends the lease: all jobs are told to stop.
func (h *heartbeat) end(why string) {
	h.mu.Lock()
	known := !h.lease.over.IsZero()
	if !known {
		h.lease.over = time.Now()
		h.first = make(chan struct{})
	}
	h.mu.Unlock()
	if known {
		return
	}
	n := h.runner.suspendAll(why, true, job.ErrLeaseLost)
	h.log.Error("the lease is over: suspending all job chains", "why", why, "chains", n)
}

// renew takes another ID if the lease has ended and nothing that ran under it is
// left. It reports whether there is an ID to send heartbeats under.
func (h *heartbeat) renew() bool {
	held, running := h.runner.load()
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &h.lease
	switch {
	case l.over.IsZero():
		return true
	case running > 0:
		return false
	case held > 0 && time.Since(l.over) < 2*l.length:
		return false // what has ended is still being handed in
	}
	h.log.Info("registering again, under another ID", "held", held, "after", time.Since(l.over).Round(time.Millisecond))
	h.lease = lease{number: l.number + 1, length: l.length}
	h.lease.id = fmt.Sprintf("%s.%d", h.runner.cfg.Self.ID, h.lease.number)
	return true
}

// send sends one heartbeat in a goroutine; the answer channel gets its error. It
// reports false, and sends none, while what ran under an ended lease is not gone.
func (h *heartbeat) send(ctx context.Context, answers chan<- error) bool {
	if !h.renew() {
		return false
	}
	h.mu.Lock()
	id, timeout := h.lease.id, h.timeout()
	h.beats++
	beat, obeyed := h.beats, h.obeyed
	h.mu.Unlock()
	go func() {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		sentAt := time.Now()
		self := h.runner.self()
		self.ID, self.Beat, self.Obeyed = id, beat, obeyed
		a, err := h.runner.cfg.RM.Heartbeat(ctx, self)
		switch {
		case err == nil:
			h.answered(id, beat, sentAt, a)
		case proto.ErrorCode(err) == proto.CodeConflict:
			h.end("the request managers have given this job runner up")
		}
		answers <- err
	}()
	return true
}

// timeout bounds one heartbeat: several fit into a lease, so that one that hangs
// does not cost it.
func (h *heartbeat) timeout() time.Duration {
	longest := max(5*h.every, 2*time.Second)
	if h.lease.length == 0 {
		return longest
	}
	return min(longest, max(h.lease.length/3, time.Second))
}

// answered takes in the answer to a heartbeat, unless the lease has ended
// meanwhile.
func (h *heartbeat) answered(id string, beat uint64, sentAt time.Time, a proto.HeartbeatAnswer) {
	h.mu.Lock()
	l := &h.lease
	// A process that was frozen may be here before it has noticed the end.
	if l.id != id || !l.over.IsZero() || !l.until.IsZero() && !l.valid() {
		h.mu.Unlock()
		return
	}
	l.length = time.Duration(a.Lease)
	// The lease runs from when the heartbeat was sent: the RM noted it later.
	if until := sentAt.Add(l.length); until.After(l.until) {
		if l.until.IsZero() {
			h.log.Info("registered", "id", id)
			defer close(h.first)
		}
		l.until = until
	}
	until := l.until
	h.mu.Unlock()
	if leased := h.runner.cfg.Leased; leased != nil {
		leased(until)
	}
	h.runner.obey(a)
	h.mu.Lock()
	h.obeyed = max(h.obeyed, beat)
	h.mu.Unlock()
}
