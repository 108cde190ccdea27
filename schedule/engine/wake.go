package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/schedule/store"
)

const (
	// maxEnded is how many requests that ended wait to be looked for. Instances of those
	// that find no room are found in the store.
	maxEnded      = 20_000
	maxHosts      = 1_000
	wakeBatch     = 500
	wakeRetryWait = 5 * time.Second
	// wakeGather is how long those that end at about the same time are gathered: a
	// manager whose requests are of no app must not ask for each of them.
	wakeGather = 20 * time.Millisecond
)

// Waker brings back instances whose request has ended, or whose host is up.
type Waker struct {
	store    *store.Store
	log      *slog.Logger
	fetchNow chan<- struct{}

	nudge chan struct{}

	mu    sync.Mutex
	ended []string // requests, to be looked for
	hosts map[string]bool
}

func newWaker(s *store.Store, log *slog.Logger, fetchNow chan<- struct{}) *Waker {
	return &Waker{store: s, log: log, fetchNow: fetchNow, nudge: make(chan struct{}, 1), hosts: map[string]bool{}}
}

// Ended says that requests ended: instances that wait for them go on. It never
// blocks; what it cannot keep is found later.
func (w *Waker) Ended(requestIDs ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range requestIDs {
		if len(w.ended) < maxEnded {
			w.ended = append(w.ended, id)
		}
	}
	wait.Nudge(w.nudge)
}

// HostUp says that a Job Runner is up on a host: instances that wait for it go on.
// It never blocks.
func (w *Waker) HostUp(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.hosts) < maxHosts {
		w.hosts[host] = true
	}
	wait.Nudge(w.nudge)
}

// run wakes instances until ctx ends.
func (w *Waker) run(ctx context.Context) {
	t := &trouble{log: w.log, msg: "waking instances whose request has ended"}
	every(ctx, wakeRetryWait, w.nudge, t, func(ctx context.Context) error {
		for !w.empty() {
			if err := wait.For(ctx, wakeGather); err != nil {
				return err
			}
			ids, hosts := w.take()
			if err := w.wakeAll(ctx, ids, hosts); err != nil {
				w.putBack(ids, hosts)
				return err
			}
		}
		return nil
	})
}

func (w *Waker) wakeAll(ctx context.Context, ids, hosts []string) error {
	if len(ids) > 0 {
		if _, err := w.store.WakeInstances(ctx, ids); err != nil {
			return err
		}
	}
	for _, host := range hosts {
		if _, err := w.store.WakeHost(ctx, host); err != nil {
			return err
		}
	}
	// Also if it woke none: they may be due by themselves.
	wait.Nudge(w.fetchNow)
	return nil
}

func (w *Waker) empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ended) == 0 && len(w.hosts) == 0
}

func (w *Waker) take() (ids, hosts []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.ended), wakeBatch)
	ids = append(ids, w.ended[:n]...)
	w.ended = w.ended[n:]
	for host := range w.hosts {
		hosts = append(hosts, host)
	}
	clear(w.hosts)
	return ids, hosts
}

func (w *Waker) putBack(ids, hosts []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ended)+len(ids) <= maxEnded {
		w.ended = append(w.ended, ids...)
	}
	for _, host := range hosts {
		if len(w.hosts) < maxHosts {
			w.hosts[host] = true
		}
	}
}
