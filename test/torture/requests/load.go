package requests

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/test/poll"
	"github.com/treadle-run/treadle/test/torture"
	"github.com/treadle-run/treadle/test/torture/requests/audit"
)

const (
	// maxOpen is how many requests may be under way: the load waits for a Treadle that
	// is down as people do.
	maxOpen = 80
	// maxClients is how many clients there are at a time.
	maxClients = 32
	// clientTries is how often a client asks until it is accepted.
	clientTries = 12
)

// load is what clients ask for.
type load struct {
	s    *system
	open func() int // how many requests are under way

	mu    sync.Mutex
	works []*work
	odd   []string // what was answered that may not be
	held  int      // times that the load waited
}

// work is one thing that a client wants done, once.
type work struct {
	key  string
	kind string // type of the request
	args map[string]any
	rng  *rand.Rand

	// All below is guarded by the load's lock.
	ids     map[string]bool // that it was accepted under: must be one
	submits int             // calls that were made
	stopped bool            // a stop was accepted
	asked   bool            // a stop was asked for
}

// run asks for requests until ctx ends, and returns when all clients have gone.
func (l *load) run(ctx context.Context) {
	var clients sync.WaitGroup
	defer clients.Wait()
	slots := make(chan struct{}, maxClients)
	tick := time.NewTicker(time.Duration(float64(time.Second) / l.s.o.Rate))
	defer tick.Stop()
	for n := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if l.open() >= maxOpen || len(slots) == cap(slots) {
			l.held++
			continue
		}
		w := newWork(l.s.o.Seed, n)
		n++
		l.mu.Lock()
		l.works = append(l.works, w)
		l.mu.Unlock()
		slots <- struct{}{}
		clients.Go(func() {
			defer func() { <-slots }()
			l.client(ctx, w)
		})
	}
}

// shapes are the requests of specs/torture.yaml, and how often each comes.
var shapes = []torture.Weighted[string]{
	{Value: "line", Weight: 22}, {Value: "fan", Weight: 18}, {Value: "flaky", Weight: 18}, {Value: "again", Weight: 16},
	{Value: "bad", Weight: 6}, {Value: "stubborn", Weight: 12}, {Value: "once", Weight: 8},
}

func newWork(seed uint64, n int) *work {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	w := &work{key: fmt.Sprintf("k-%d-%06d", seed, n), rng: rng, ids: map[string]bool{}}
	w.kind = torture.Pick(rng, shapes)
	seconds := 0.02 + 0.4*rng.Float64()
	if rng.IntN(6) == 0 { // one that is there when leases end
		seconds = 1 + 2*rng.Float64()
	}
	w.args = map[string]any{"tag": w.key, "work": fmt.Sprintf("%.2f", seconds)}
	if w.kind == "fan" {
		w.args["items"] = []int{1, 2, 3, 4, 5, 6}
	}
	return w
}

// client sees one work through: until it is accepted, and stopped if it has a
// mind to.
func (l *load) client(ctx context.Context, w *work) {
	if w.rng.IntN(7) == 0 { // its first answer is lost on the way
		hurried, cancel := context.WithTimeout(ctx, time.Duration(1+w.rng.IntN(25))*time.Millisecond)
		l.try(hurried, w, l.anyRM(w))
		cancel()
	}
	id := l.accepted(ctx, w)
	if id == "" {
		return
	}
	if w.rng.IntN(4) == 0 { // once more, for no reason
		l.try(ctx, w, l.anyRM(w))
	}
	if w.rng.IntN(25) == 0 {
		l.misuse(ctx, w)
	}
	if w.rng.IntN(8) == 0 && wait.For(ctx, time.Duration(w.rng.Float64()*w.rng.Float64()*float64(5*time.Second))) == nil {
		l.stop(ctx, w, id)
	}
}

// accepted asks until it is told 201, sometimes two managers at once.
func (l *load) accepted(ctx context.Context, w *work) string {
	for try := range clientTries {
		if w.rng.IntN(15) == 0 {
			var twin sync.WaitGroup
			rm := l.anyRM(w)
			twin.Go(func() { l.try(ctx, w, rm) })
			id := l.try(ctx, w, l.anyRM(w))
			twin.Wait()
			if id != "" {
				return id
			}
		}
		if id := l.try(ctx, w, l.anyRM(w)); id != "" {
			return id
		}
		if wait.For(ctx, time.Duration(try+1)*200*time.Millisecond) != nil {
			break
		}
	}
	return ""
}

func (l *load) anyRM(w *work) *service { return l.s.rms[w.rng.IntN(len(l.s.rms))] }

// try asks once, and writes down what it was told.
func (l *load) try(ctx context.Context, w *work, rm *service) string {
	id, status, err := l.s.submit(ctx, rm, w)
	l.mu.Lock()
	defer l.mu.Unlock()
	w.submits++
	switch {
	case id != "":
		w.ids[id] = true
	case err == nil && status != http.StatusServiceUnavailable:
		l.odd = append(l.odd, fmt.Sprintf("POST /api/v1/requests with key %s: status %d", w.key, status))
	}
	return id
}

// misuse uses the key for something else, which must be refused.
func (l *load) misuse(ctx context.Context, w *work) {
	other := &work{key: w.key, kind: "line", args: map[string]any{"tag": w.key + "-other"}}
	id, status, err := l.s.submit(ctx, l.anyRM(w), other)
	if err == nil && status != http.StatusConflict && status != http.StatusServiceUnavailable {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.odd = append(l.odd, fmt.Sprintf("the key %s was taken for another body: status %d, request %s", w.key, status, id))
	}
}

// stop stops a request, and asks again until a manager has understood.
func (l *load) stop(ctx context.Context, w *work, id string) {
	l.mu.Lock()
	w.asked = true
	l.mu.Unlock()
	for try := range clientTries {
		status, answer, err := l.s.call(ctx, http.MethodPut, l.anyRM(w).baseURL()+"/api/v1/requests/"+id+"/stop", "", nil)
		l.mu.Lock()
		switch {
		case err == nil && status == http.StatusOK:
			w.stopped = true
		case err == nil && status != http.StatusConflict && status != http.StatusServiceUnavailable:
			l.odd = append(l.odd, fmt.Sprintf("stop of request %s: status %d: %.200s", id, status, answer))
		}
		l.mu.Unlock()
		if err == nil && (status == http.StatusOK || status == http.StatusConflict) {
			return
		}
		if wait.For(ctx, time.Duration(try+1)*200*time.Millisecond) != nil {
			return
		}
	}
}

// settle waits until no request is under way; an error says that there are some
// still.
func (l *load) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.s.o.Settle, errLate)
	defer cancel()
	return poll.Until(ctx, 200*time.Millisecond, func() (bool, error) {
		open, err := l.s.openRequests(ctx)
		return err == nil && len(open) == 0, nil
	})
}

// asked is what clients asked for and were told, for the audit. All clients have gone.
func (l *load) asked() audit.Asked {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := audit.Asked{Odd: l.odd}
	for _, w := range l.works {
		a.Works = append(a.Works, audit.Work{
			Key: w.key, Kind: w.kind, IDs: slices.Sorted(maps.Keys(w.ids)), Submits: w.submits, Stopped: w.stopped, Asked: w.asked,
		})
	}
	return a
}
