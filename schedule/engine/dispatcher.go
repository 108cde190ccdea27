package engine

import (
	"container/heap"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
)

// Dispatcher has workers look at instances when their time comes: a bounded number
// of workers, each instance by one at a time.
type Dispatcher struct {
	executor   *Executor
	fetchNow   chan<- struct{}
	backlog    *atomic.Int64 // how many instances are known, for the metrics
	maxWaiting int

	wake  chan struct{}
	slots chan struct{} // one for each worker

	mu      sync.Mutex
	known   map[instanceKey]*item // waiting, or worked on
	waiting itemHeap
	busy    map[string][]*item // apps that are worked on, and what is to be looked at then
	more    bool               // the store has more than was read
}

type instanceKey struct {
	app    string
	number uint64
}

func keyOf(in proto.Instance) instanceKey { return instanceKey{in.App, in.Number} }

// item is an instance and when it is looked at.
type item struct {
	in proto.Instance
	at time.Time
	// failures counts the failed tries in a row: since the first one, it is unknown whether
	// this member has the instance.
	failures int
	place    int // in the heap; -1 when it is not there
}

func newDispatcher(executor *Executor, fetchNow chan<- struct{}, backlog *atomic.Int64, workers, maxWaiting int) *Dispatcher {
	return &Dispatcher{
		executor: executor, fetchNow: fetchNow, backlog: backlog, maxWaiting: maxWaiting, wake: make(chan struct{}, 1),
		slots: make(chan struct{}, workers), known: map[instanceKey]*item{}, busy: map[string][]*item{},
	}
}

// Dispatch has the instance looked at, at the given time. It reports whether it was
// taken: not if it is worked on, or if there is no room. One that waits takes the new
// time and place.
func (d *Dispatcher) Dispatch(in proto.Instance, at time.Time) bool {
	in.Conf, in.Result = nil, nil // they are read again, and may be large
	return d.add(&item{in: in, at: at})
}

func (d *Dispatcher) add(it *item) bool {
	d.mu.Lock()
	key := keyOf(it.in)
	old := d.known[key]
	switch {
	case old != nil && old.place >= 0 && old.failures == 0:
		old.in, old.at = it.in, it.at
		heap.Fix(&d.waiting, old.place)
	case old != nil || len(d.known) >= d.maxWaiting:
		d.mu.Unlock()
		return false
	default:
		d.known[key] = it
		d.push(it)
	}
	d.mu.Unlock()
	wait.Nudge(d.wake)
	return true
}

func (d *Dispatcher) push(it *item) {
	heap.Push(&d.waiting, it)
	d.backlog.Store(int64(len(d.known)))
}

// load returns how many instances are known, and for how many more there is room.
func (d *Dispatcher) load() (known, room int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.known), d.maxWaiting - len(d.known)
}

// batch is how many instances are read at a time beside those that are known.
func (d *Dispatcher) batch() int { return max(d.maxWaiting/2, 1) }

func (d *Dispatcher) knows(in proto.Instance) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[keyOf(in)] != nil
}

// wantMore says whether the store has more than was read: then it is asked again as
// soon as there is room.
func (d *Dispatcher) wantMore(more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.more = more
}

// run works until ctx ends, and then until all workers have ended.
func (d *Dispatcher) run(ctx context.Context) {
	var workers sync.WaitGroup
	defer func() {
		workers.Wait()
		d.backlog.Store(0)
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		it, wait := d.take(time.Now())
		if it == nil {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-d.wake:
			case <-ctx.Done():
				return
			}
			continue
		}
		select {
		case d.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		workers.Go(func() {
			defer func() { <-d.slots }()
			d.work(ctx, it)
		})
	}
}

// take returns the item whose time has come, or how long until there is one. Of one
// app it gives out one at a time, so that they start in their order.
func (d *Dispatcher) take(now time.Time) (*item, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.waiting) > 0 {
		if wait := d.waiting[0].at.Sub(now); wait > 0 {
			return nil, min(wait, time.Minute)
		}
		it := heap.Pop(&d.waiting).(*item)
		if others, busy := d.busy[it.in.App]; busy {
			d.busy[it.in.App] = append(others, it)
			continue
		}
		d.busy[it.in.App] = nil
		return it, 0
	}
	return nil, time.Minute
}

// work has the executor take one step with an instance.
func (d *Dispatcher) work(ctx context.Context, it *item) {
	var err error
	if it.failures == 0 {
		err = d.executor.Run(ctx, it.in)
	} else {
		err = d.executor.runAgain(ctx, it.in)
	}
	d.executor.trouble.record(ctx, err)
	if err == nil || ctx.Err() != nil {
		d.done(it)
		return
	}
	// It may be this member's, and nobody else will look at it then: try again here.
	it.failures++
	it.at = time.Now().Add(backoff(it.failures, time.Second, 30*time.Second))
	d.mu.Lock()
	d.release(it.in.App)
	d.push(it)
	d.mu.Unlock()
	wait.Nudge(d.wake)
}

func (d *Dispatcher) done(it *item) {
	d.mu.Lock()
	delete(d.known, keyOf(it.in))
	d.release(it.in.App)
	d.backlog.Store(int64(len(d.known)))
	again := d.more && len(d.known) <= d.batch()
	if again {
		d.more = false
	}
	d.mu.Unlock()
	if again {
		wait.Nudge(d.fetchNow)
	}
}

// release has the other instances of an app looked at again.
func (d *Dispatcher) release(app string) {
	others := d.busy[app]
	delete(d.busy, app)
	for _, it := range others {
		heap.Push(&d.waiting, it)
	}
	if len(others) > 0 {
		wait.Nudge(d.wake)
	}
}

// itemHeap has the item whose time comes first in front; of the same time, that of
// the earlier period.
type itemHeap []*item

func (h itemHeap) Len() int { return len(h) }
func (h itemHeap) Less(i, j int) bool {
	if c := h[i].at.Compare(h[j].at); c != 0 {
		return c < 0
	}
	return h[i].in.PeriodStart.Before(h[j].in.PeriodStart)
}

// Swap is for package heap.
func (h itemHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push and Pop are for package heap.
func (h *itemHeap) Push(x any) {
	it := x.(*item)
	it.place = len(*h)
	*h = append(*h, it)
}

// Pop returns the last item.
func (h *itemHeap) Pop() any {
	old := *h
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	it.place = -1
	return it
}
