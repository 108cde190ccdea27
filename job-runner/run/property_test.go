package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// flaky is a manager that loses reports before and after storing them, and takes
// its time.
type flaky struct {
	mu    sync.Mutex
	moods []int // what happens to the next calls, then all goes well
}

func (f *flaky) next() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.moods) == 0 {
		return 0
	}
	mood := f.moods[0]
	f.moods = f.moods[1:]
	return mood
}

// visits counts how often each job ran, and holds that to the rules.
type visits struct {
	mu       sync.Mutex
	running  map[string]bool
	complete map[string]int
	problems []string
}

func (v *visits) enter(id string, prevs []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running[id] {
		v.problems = append(v.problems, id+" runs twice at a time")
	}
	v.running[id] = true
	for _, p := range prevs {
		if v.complete[p] == 0 {
			v.problems = append(v.problems, id+" started before "+p+" completed")
		}
	}
}

func (v *visits) leave(id string, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running[id] = false
	if ok {
		v.complete[id]++
	}
}

// TestAnyChainRunsEachJobOnceWhateverTheManagerDoes runs random chains with a
// manager whose answers get lost: every job completes once, in order, and the log
// has every try once, without a gap (the fake manager looks at that).
func TestAnyChainRunsEachJobOnceWhateverTheManagerDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		type plan struct {
			jc    *proto.JobChain
			prevs map[string][]string
		}
		var plans []plan
		failures := map[string]uint{}
		takesTime := map[string]time.Duration{}
		for r := range rapid.IntRange(1, 4).Draw(rt, "chains") {
			n := rapid.IntRange(1, 9).Draw(rt, "jobs")
			jc := chainOf(fmt.Sprintf("r%d", r), "")
			prevs := map[string][]string{}
			for i := range n {
				id := fmt.Sprintf("r%d.j%d", r, i)
				failures[id] = uint(rapid.IntRange(0, 2).Draw(rt, "failures"))
				takesTime[id] = time.Duration(rapid.IntRange(0, 3).Draw(rt, "takes")) * time.Second
				jc.Jobs[id] = &proto.Job{ID: id, Name: id, Type: "scripted", State: proto.StatePending, SequenceID: "main",
					Args: proto.Values{}, Data: proto.Values{}, Retry: 2, RetryWait: proto.Duration(rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(rt, "wait"))}
				for p := range i {
					if rapid.IntRange(0, 3).Draw(rt, "edge") == 0 {
						prev := fmt.Sprintf("r%d.j%d", r, p)
						jc.AdjacencyList[prev] = append(jc.AdjacencyList[prev], id)
						prevs[id] = append(prevs[id], prev)
					}
				}
			}
			plans = append(plans, plan{jc, prevs})
		}
		moods := &flaky{moods: rapid.SliceOfN(rapid.IntRange(0, 3), 0, 40).Draw(rt, "moods")}
		v := &visits{running: map[string]bool{}, complete: map[string]int{}}
		rm := newFakeRM()
		synctest.Test(t, func(t *testing.T) {
			rm.beforeReport = func(ctx context.Context, _ proto.Report) error {
				switch moods.next() {
				case 1:
					return errAway
				case 2:
					return wait.For(ctx, 700*time.Millisecond)
				}
				return nil
			}
			rm.afterReport = func(proto.Report) error {
				if moods.next() == 3 {
					return errors.New("the answer was lost")
				}
				return nil
			}
			jobs := map[string]runFunc{}
			for _, p := range plans {
				for id := range p.jc.Jobs {
					jobs[id] = func(ctx context.Context, _ job.Values) (job.Result, error) {
						v.enter(id, p.prevs[id])
						err := wait.For(ctx, takesTime[id])
						if err == nil && job.InfoOf(ctx).Try <= failures[id] {
							err = errors.New("not yet")
						}
						v.leave(id, err == nil)
						return job.Result{}, err
					}
				}
			}
			h := start(t, rm, jobs)
			for _, p := range plans {
				h.start(p.jc, 1)
			}
			after(10 * time.Minute)
			for _, p := range plans {
				if end, ok := rm.end(p.jc.RequestID); !ok || end.Final != proto.StateComplete || end.FinishedJobs != uint(len(p.jc.Jobs)) {
					v.problems = append(v.problems, fmt.Sprintf("%s ended %v %s with %d jobs", p.jc.RequestID, ok, end.Final, end.FinishedJobs))
				}
				tries := 0
				for id := range p.jc.Jobs {
					tries += int(failures[id]) + 1
					if v.complete[id] != 1 {
						v.problems = append(v.problems, fmt.Sprintf("%s completed %d times", id, v.complete[id]))
					}
				}
				if got := len(rm.log[p.jc.RequestID]); got != tries {
					v.problems = append(v.problems, fmt.Sprintf("%s has %d entries, want %d", p.jc.RequestID, got, tries))
				}
			}
			if left := h.chains.held(); len(left) > 0 {
				v.problems = append(v.problems, fmt.Sprintf("the runner still has %v", left))
			}
		})
		for _, p := range append(v.problems, rm.problems...) {
			rt.Error(p)
		}
	})
}
