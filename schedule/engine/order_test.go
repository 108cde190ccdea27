package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
)

// What depends on other apps and queues runs its oldest period first, in whatever
// order the periods of its upstream apps succeed.
func TestTheOldestPeriodRunsFirst(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				random := rand.New(rand.NewPCG(seed, 1))
				// The upstream app takes from one to eight minutes a period, several at a time: later
				// periods often succeed before earlier ones.
				w.do("up", func(in proto.Instance) (Outcome, error) {
					return lasts(time.Duration(1+random.IntN(8)) * time.Minute)(in)
				})
				var ran []time.Time
				w.do("down", func(in proto.Instance) (Outcome, error) {
					if len(ran) == 0 || !ran[len(ran)-1].Equal(in.PeriodStart) {
						ran = append(ran, in.PeriodStart)
					}
					return lasts(2 * time.Minute)(in)
				})
				e := w.engine("m1")
				w.put(e, proto.App{Name: "up", Request: "x", Starts: "hourly", Overlap: plan.OverlapAllow})
				w.put(e, proto.App{Name: "down", Request: "x", Depends: map[string]string{"up": "hourly"}, Overlap: plan.OverlapQueue})
				w.run(e)
				at(hours(2))
				_, err := e.RunPeriods(w.t.Context(), "up", proto.RunPeriods{From: "1999-12-31T12:00:00Z", To: "1999-12-31T20:00:00Z"})
				must(w.t, err)
				at(hours(2) + 40*time.Minute)
				if len(ran) < 8 {
					w.t.Fatalf("ran: %v", ran)
				}
				// One that succeeds while a later one runs comes after that: compare what waited.
				for i := 1; i < len(ran); i++ {
					waited := ran[i:]
					for _, earlier := range waited[1:] {
						if earlier.Before(ran[i]) && w.dueBefore("down", earlier, ran[i]) {
							w.t.Errorf("%s ran before %s, which was due: %v", ran[i], earlier, ran)
						}
					}
				}
				if !slices.IsSortedFunc(ran[len(ran)-3:], time.Time.Compare) {
					w.t.Errorf("the last ones ran in the order %v", ran[len(ran)-3:])
				}
			})
		})
	}
}

// dueBefore reports whether the instance of a period was due when that of another one
// started.
func (w *world) dueBefore(app string, period, other time.Time) bool {
	var due, started time.Time
	for _, in := range w.instances(app) {
		if in.PeriodStart.Equal(period) {
			due = in.Due
		}
		if in.PeriodStart.Equal(other) && in.StartedAt != nil {
			started = *in.StartedAt
		}
	}
	return !due.IsZero() && due.Before(started)
}
