package run

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// How a try in a goroutine of its own goes on.
const (
	tryRuns int32 = iota
	tryAbandoned
	tryEnded
)

// abandoned are the tries that nobody waits for any more, because their jobs ignored
// that they were told to stop. They run all the same: while there is one, the runner
// accepts no chains, for the next try could be among them and run beside it. Its methods
// are safe for concurrent use.
type abandoned struct {
	limit time.Duration // that the runner lives with one
	log   *slog.Logger
	over  chan error // gets why the runner must end

	mu    sync.Mutex
	tries map[*try]abandonedTry
}

type abandonedTry struct {
	run   *chainRun
	timer *time.Timer
}

func newAbandoned(limit time.Duration, log *slog.Logger) *abandoned {
	return &abandoned{limit: limit, log: log, over: make(chan error, 1), tries: map[*try]abandonedTry{}}
}

// add takes a try, unless it has ended at this moment.
func (a *abandoned) add(c *chainRun, t *try) {
	a.mu.Lock()
	a.tries[t] = abandonedTry{run: c, timer: a.watch(c, t)}
	a.mu.Unlock()
	if !t.life.CompareAndSwap(tryRuns, tryAbandoned) {
		a.remove(t)
	}
}

// watch has the runner end if a try that should have ended has not after the limit. It
// suffices for one that is still waited for.
func (a *abandoned) watch(c *chainRun, t *try) *time.Timer {
	j := t.start.Job
	return time.AfterFunc(a.limit, func() {
		if t.life.Load() == tryEnded {
			return
		}
		select {
		case a.over <- fmt.Errorf("job %s (%s, type %s) of request %s has ignored for %s that it was told to stop", j.Name, j.ID, j.Type, c.id, a.limit):
		default: // another one came first
		}
	})
}

// ended is told of every try that ends in its goroutine.
func (a *abandoned) ended(t *try) {
	if t.life.Swap(tryEnded) == tryAbandoned {
		a.log.Info("a job that had been abandoned ended", "request", a.remove(t), "job", t.start.Job.ID, "try", t.start.Try)
	}
}

func (a *abandoned) remove(t *try) (requestID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.tries[t]
	old.timer.Stop()
	delete(a.tries, t)
	return old.run.id
}

// count returns how many there are.
func (a *abandoned) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.tries)
}

// appendStatus appends what they do.
func (a *abandoned) appendStatus(to []proto.JobStatus) []proto.JobStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	for t, of := range a.tries {
		s := of.run.status(t)
		s.Status = "was told to stop and still runs; " + s.Status
		to = append(to, s)
	}
	return to
}
