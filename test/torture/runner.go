package torture

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
)

// Why a fault is not done.
var (
	ErrTaken = errors.New("another fault has it")
	ErrEnded = errors.New("it has ended")
)

// ErrBroken says that something could not be healed: the test cannot go on.
var ErrBroken = errors.New("the test cannot go on")

// Event is a fault that was done, or why it was not.
type Event struct {
	Fault
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Skipped string    `json:"skipped,omitempty"`
}

// Runner does the faults of a plan.
type Runner struct {
	// Do does one fault, and heals it. The error says why it was not done.
	Do func(ctx context.Context, f Fault) error
	// Say prints progress.
	Say Say

	running sync.WaitGroup

	mu     sync.Mutex
	events []Event
	broken error
}

// Say prints progress; nil does not.
type Say func(format string, args ...any)

// Printf prints if there is where to.
func (s Say) Printf(format string, args ...any) {
	if s != nil {
		s(format, args...)
	}
}

// Run does the faults at their times after started until ctx ends, and heals what is
// broken before it returns. The error is ErrBroken.
func (r *Runner) Run(ctx context.Context, started time.Time, faults []Fault) error {
	for _, f := range faults {
		if wait.For(ctx, time.Until(started.Add(f.At))) != nil {
			break
		}
		r.running.Go(func() { r.do(ctx, f) })
	}
	<-ctx.Done()
	r.running.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// do does one fault from its start to its end.
func (r *Runner) do(ctx context.Context, f Fault) {
	e := Event{Fault: f, Started: time.Now()}
	r.Say.Printf("%s", f)
	err := r.Do(ctx, f)
	e.Ended = time.Now()
	if err != nil {
		e.Skipped = err.Error()
		r.Say.Printf("%s: not done: %v", f, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	if errors.Is(err, ErrBroken) {
		r.broken = err
	}
}

// Events returns what was done so far.
func (r *Runner) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event{}, r.events...)
}
