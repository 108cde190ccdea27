package request

import "sync"

// How much the queue of requests to send may hold. What does not fit is found in
// the store later.
const (
	maxQueued      = 10_000
	maxQueuedBytes = 64 << 20
)

// pendingRequest is a request that waits to be sent.
type pendingRequest struct {
	id    string
	epoch uint64
	body  []byte // JSON of its chain; nil if it has to be read
}

// dispatchQueue holds requests that this manager knows to be PENDING, oldest
// first.
type dispatchQueue struct {
	mu      sync.Mutex
	waiting []pendingRequest
	known   map[string]bool
	bytes   int
	wake    chan struct{}
}

func newDispatchQueue() *dispatchQueue {
	return &dispatchQueue{known: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// add puts a request at the end, unless it is there or the queue is full.
func (q *dispatchQueue) add(r pendingRequest) {
	q.mu.Lock()
	if !q.known[r.id] && len(q.waiting) < maxQueued {
		if q.bytes+len(r.body) > maxQueuedBytes {
			r.body = nil
		}
		q.known[r.id] = true
		q.bytes += len(r.body)
		q.waiting = append(q.waiting, r)
	}
	q.mu.Unlock()
	q.look()
}

// putBack puts requests that could not be sent now to the front, but those that
// were added again meanwhile.
func (q *dispatchQueue) putBack(rs []pendingRequest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	front := make([]pendingRequest, 0, len(rs)+len(q.waiting))
	for _, r := range rs {
		if q.known[r.id] {
			continue
		}
		q.known[r.id] = true
		q.bytes += len(r.body)
		front = append(front, r)
	}
	q.waiting = append(front, q.waiting...)
}

// take removes up to n requests from the front.
func (q *dispatchQueue) take(n int) []pendingRequest {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = min(n, len(q.waiting))
	out := append([]pendingRequest(nil), q.waiting[:n]...)
	clear(q.waiting[:n]) // let the bodies go
	q.waiting = q.waiting[n:]
	for _, r := range out {
		delete(q.known, r.id)
		q.bytes -= len(r.body)
	}
	return out
}

func (q *dispatchQueue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// look wakes the dispatch loop if there is something for it to do.
func (q *dispatchQueue) look() {
	if q.len() > 0 {
		nudge(q.wake)
	}
}
