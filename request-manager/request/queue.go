package request

import (
	"slices"
	"sync"

	"github.com/treadle-run/treadle/internal/wait"
)

// How much the queue of requests to send may hold. What does not fit is found in
// the store later.
const (
	maxQueued       = 10_000 // of those that any runner may run
	maxQueuedOfHost = 1000   // of those of one host
	maxQueuedBytes  = 64 << 20
)

// pendingRequest is a request that waits to be sent.
type pendingRequest struct {
	id    string
	epoch uint64
	body  []byte // JSON of its chain; nil if it has to be read
	host  string // the only one that may run it; "" is any

	seq uint64 // its place in the queue
}

// dispatchQueue holds requests that this manager knows to be PENDING, oldest
// first. Those of each host have a lane of their own, so that a host without a
// runner, or a full one, does not hold up what others can run.
type dispatchQueue struct {
	mu    sync.Mutex
	lanes map[string][]pendingRequest // by host; none is empty
	known map[string]bool
	bytes int
	seq   uint64
	wake  chan struct{}
}

func newDispatchQueue() *dispatchQueue {
	return &dispatchQueue{lanes: map[string][]pendingRequest{}, known: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// add puts a request at the end, unless it is queued already or its lane is full.
func (q *dispatchQueue) add(r pendingRequest) {
	q.mu.Lock()
	limit := maxQueuedOfHost
	if r.host == "" {
		limit = maxQueued
	}
	if !q.known[r.id] && len(q.lanes[r.host]) < limit {
		if q.bytes+len(r.body) > maxQueuedBytes {
			r.body = nil
		}
		q.seq++
		r.seq = q.seq
		q.known[r.id] = true
		q.bytes += len(r.body)
		q.lanes[r.host] = append(q.lanes[r.host], r)
	}
	q.mu.Unlock()
	q.nudge()
}

// putBack puts a request that could not be sent now to the front of its lane,
// unless it was added again meanwhile.
func (q *dispatchQueue) putBack(r pendingRequest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known[r.id] {
		return
	}
	q.known[r.id] = true
	q.bytes += len(r.body)
	q.lanes[r.host] = slices.Insert(q.lanes[r.host], 0, r)
}

// take removes the request that has waited longest, of those whose host is not
// closed; false if there is none.
func (q *dispatchQueue) take(closed map[string]bool) (pendingRequest, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var lane []pendingRequest
	for host, l := range q.lanes {
		if !closed[host] && (lane == nil || l[0].seq < lane[0].seq) {
			lane = l
		}
	}
	if lane == nil {
		return pendingRequest{}, false
	}
	r := lane[0]
	lane[0] = pendingRequest{} // let the body go
	q.forget(r)
	if len(lane) == 1 {
		delete(q.lanes, r.host)
	} else {
		q.lanes[r.host] = lane[1:]
	}
	return r, true
}

// forget records that a request is no longer in its lane.
func (q *dispatchQueue) forget(r pendingRequest) {
	delete(q.known, r.id)
	q.bytes -= len(r.body)
}

// keep drops the lanes of hosts without a runner: their requests are found in the
// store once there is one.
func (q *dispatchQueue) keep(hasRunner func(host string) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for host, lane := range q.lanes {
		if host == "" || hasRunner(host) {
			continue
		}
		for _, r := range lane {
			q.forget(r)
		}
		delete(q.lanes, host)
	}
}

func (q *dispatchQueue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.known)
}

// nudge wakes the dispatch loop if a request is queued.
func (q *dispatchQueue) nudge() {
	if q.len() > 0 {
		wait.Nudge(q.wake)
	}
}
