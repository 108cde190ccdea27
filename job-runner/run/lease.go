package run

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// lease is the right to run jobs, under an ID. Its methods are safe for concurrent
// use.
//
// A lease that has ended is not extended: managers may have declared the runner
// lost, and what they hand over under its ID may come late. Once nothing of it runs
// any more, the runner registers again under another ID: see renew.
type lease struct {
	base string // the first ID
	log  *slog.Logger

	mu     sync.Mutex
	id     string
	number int           // of the leases before it
	length time.Duration // as the RM said last
	until  time.Time     // zero before the first answer
	over   time.Time     // when it was noticed that it has ended; zero if it has not
	first  chan struct{} // closed with the first answer
}

func newLease(id string, log *slog.Logger) *lease {
	return &lease{base: id, id: id, log: log, first: make(chan struct{})}
}

// current is the ID that the runner has now.
func (l *lease) current() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id
}

// valid reports whether the runner may run jobs.
func (l *lease) valid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.validLocked()
}

func (l *lease) validLocked() bool { return l.over.IsZero() && time.Now().Before(l.until) }

// left is for how long it is valid.
func (l *lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over.IsZero() {
		return 0
	}
	return time.Until(l.until)
}

// firstWait bounds awaitFirst.
const firstWait = 2 * time.Second

// awaitFirst waits a moment for a lease that the runner has just asked for. A
// manager learns of a runner by its first heartbeat and sends it chains at once:
// they may be here before the answer to that heartbeat is.
func (l *lease) awaitFirst(ctx context.Context) {
	l.mu.Lock()
	first, over := l.first, !l.over.IsZero()
	l.mu.Unlock()
	if over {
		return
	}
	t := time.NewTimer(firstWait)
	defer t.Stop()
	select {
	case <-first:
	case <-t.C:
	case <-ctx.Done():
	}
}

// extend extends the lease of an ID by the answer to a heartbeat, and returns when it
// ends. It does not if the lease has ended meanwhile.
func (l *lease) extend(id string, sentAt time.Time, length time.Duration) (until time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A process that was frozen may be here before it has noticed the end.
	if l.id != id || !l.over.IsZero() || !l.until.IsZero() && !l.validLocked() {
		return time.Time{}, false
	}
	l.length = length
	// The lease runs from when the heartbeat was sent: the RM recorded it later.
	if until := sentAt.Add(length); until.After(l.until) {
		if l.until.IsZero() {
			l.log.Info("registered", "id", id)
			close(l.first)
		}
		l.until = until
	}
	return l.until, true
}

// end ends the lease; it reports false if it had ended before.
func (l *lease) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over.IsZero() {
		return false
	}
	l.over, l.first = time.Now(), make(chan struct{})
	return true
}

// renew takes another ID if the lease has ended and nothing that ran under it is
// left. It returns the ID to send heartbeats under, if there is one.
func (l *lease) renew(chains, jobs int) (id string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over.IsZero():
		return l.id, true
	case jobs > 0:
		return "", false
	case chains > 0 && time.Since(l.over) < 2*l.length:
		return "", false // what has ended is still being handed back
	}
	l.log.Info("registering again, under another ID", "chains", chains, "after", time.Since(l.over).Round(time.Millisecond))
	l.number++
	l.id = fmt.Sprintf("%s.%d", l.base, l.number)
	l.until, l.over = time.Time{}, time.Time{}
	return l.id, true
}

// callTimeout bounds one heartbeat: several fit into a lease, so that one that hangs
// does not cost it.
func (l *lease) callTimeout(every time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := max(5*every, 2*time.Second)
	if l.length == 0 {
		return longest
	}
	return min(longest, max(l.length/3, time.Second))
}
