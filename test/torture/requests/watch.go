package requests

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/test/torture"
)

var errLate = errors.New("requests are still under way")

// openRequest is a request that has not ended, as the database has it.
type openRequest struct {
	state   int
	epoch   uint64
	updated int64
	url     string // of its runner
}

// openRequests reads them, by id.
func (s *system) openRequests(ctx context.Context) (map[string]openRequest, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	rows, err := s.look.QueryContext(ctx, "SELECT request_id, state, epoch, updated_at, COALESCE(jr_url, '') FROM requests WHERE state IN (1, 2, 7)")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	open := map[string]openRequest{}
	for rows.Next() {
		var id string
		var r openRequest
		if err := rows.Scan(&id, &r.state, &r.epoch, &r.updated, &r.url); err != nil {
			return nil, err
		}
		open[id] = r
	}
	return open, rows.Err()
}

// watch sees how long requests need to go on after a fault.
type watch struct {
	s *system

	mu      sync.Mutex
	open    int
	follows []*recovery
	times   map[string][]time.Duration // by kind of fault
	slow    []Slow
}

// Slow is a recovery that took long, with the request that was the last.
type Slow struct {
	What    string        `json:"what"`
	Since   time.Time     `json:"since"`
	Took    time.Duration `json:"took"`
	Request string        `json:"request"`
}

// recovery is a fault whose requests have not all gone on yet.
type recovery struct {
	what  string
	since time.Time
	left  map[string]openRequest // as they were
	last  string                 // the request that went on last
	// epochs says that a request goes on when another runner has it, not when
	// anything is heard of it.
	epochs bool
}

func newWatch(s *system) *watch { return &watch{s: s, times: map[string][]time.Duration{}} }

// run looks until ctx ends.
func (w *watch) run(ctx context.Context) {
	for wait.For(ctx, 100*time.Millisecond) == nil {
		open, err := w.s.openRequests(ctx)
		if err == nil {
			w.look(open)
		}
	}
}

func (w *watch) look(open map[string]openRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = len(open)
	var left []*recovery
	for _, r := range w.follows {
		for id, before := range r.left {
			now, is := open[id]
			if !is || now.epoch > before.epoch && now.state == 2 || !r.epochs && now.updated > before.updated {
				delete(r.left, id)
				r.last = id
			}
		}
		if len(r.left) == 0 {
			took := time.Since(r.since)
			w.times[r.what] = append(w.times[r.what], took)
			if took > w.s.o.leaseEnd()+5*time.Second { // and what Treadle may take
				w.slow = append(w.slow, Slow{r.what, r.since, took, r.last})
			}
		} else {
			left = append(left, r)
		}
	}
	w.follows = left
}

func (w *watch) openNow() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open
}

// held returns what a runner has now; nothing if the database does not say.
func (w *watch) held(ctx context.Context, url string) map[string]openRequest {
	open, err := w.s.openRequests(ctx)
	if err != nil {
		return nil
	}
	for id, r := range open {
		if r.url != url {
			delete(open, id)
		}
	}
	return open
}

// follow measures how long it takes until other runners have all of them, or
// they have ended.
func (w *watch) follow(what string, since time.Time, held map[string]openRequest) {
	w.add(&recovery{what: what, since: since, left: held, epochs: true})
}

// followAll measures, from now on, how long it takes until all requests that are
// under way have gone on.
func (w *watch) followAll(ctx context.Context, what torture.Kind) {
	since := time.Now()
	open, err := w.s.openRequests(ctx)
	if err == nil {
		w.add(&recovery{what: "after " + string(what), since: since, left: open})
	}
}

func (w *watch) add(r *recovery) {
	if len(r.left) == 0 {
		return
	}
	left := make(map[string]openRequest, len(r.left))
	for id, x := range r.left {
		left[id] = x
	}
	r.left = left
	w.mu.Lock()
	defer w.mu.Unlock()
	w.follows = append(w.follows, r)
}
