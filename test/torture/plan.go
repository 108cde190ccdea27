package torture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Kind is what goes wrong.
type Kind string

// The faults of a server of the database.
const (
	DBKill Kind = "db-kill" // kill -9; started again
	DBStop Kind = "db-stop" // SIGSTOP, SIGCONT
)

// Fault is one thing that goes wrong for some time.
type Fault struct {
	At     time.Duration `json:"at"` // since the start
	Kind   Kind          `json:"kind"`
	Target string        `json:"target,omitempty"` // such as jr1, m2, db, or a link such as jr1>rm2
	Length time.Duration `json:"length,omitempty"`
	Delay  time.Duration `json:"delay,omitempty"`  // of everything that passes a slow link
	Number int           `json:"number,omitempty"` // of shards
}

func (f Fault) String() string {
	s := fmt.Sprintf("%7.1fs %-12s", f.At.Seconds(), f.Kind)
	if f.Target != "" {
		s += " " + f.Target
	}
	if f.Number > 0 {
		s += fmt.Sprintf(" %d", f.Number)
	}
	if f.Length > 0 {
		s += fmt.Sprintf(" for %s", f.Length.Round(10*time.Millisecond))
	}
	if f.Delay > 0 {
		s += fmt.Sprintf(", %s each way", f.Delay.Round(time.Millisecond))
	}
	return s
}

// Weighted is a value and how often it comes.
type Weighted[T any] struct {
	Value  T
	Weight int
}

// Pick draws one of several values by their weights.
func Pick[T any](r *rand.Rand, of []Weighted[T]) T {
	total := 0
	for _, w := range of {
		total += w.Weight
	}
	n := r.IntN(total)
	for _, w := range of {
		if n -= w.Weight; n < 0 {
			return w.Value
		}
	}
	panic("torture: weights")
}

// Planner draws the faults of a seed. A plan that uses no other source of chance is a
// pure function: a seed gives the same faults always, a longer time only more of them.
type Planner struct {
	*rand.Rand
	At time.Duration // of the fault that is drawn
}

// NewPlanner returns the planner of a seed. Another topology, which says what there is
// to break, gives other faults.
func NewPlanner(seed, topology uint64) *Planner {
	return &Planner{Rand: rand.New(rand.NewPCG(seed, topology))}
}

// Plan returns the faults from the first on until length, with a gap from one to the
// next. Draw makes a fault of a kind; false says that there is nothing now that it
// could be done to.
func (p *Planner) Plan(first, length time.Duration, kinds []Weighted[Kind], draw func(Kind) (Fault, bool), gap func() time.Duration) []Fault {
	var faults []Fault
	for p.At = first; p.At < length; p.At += gap() {
		f, ok := draw(Pick(p.Rand, kinds))
		for !ok {
			f, ok = draw(Pick(p.Rand, kinds))
		}
		f.At = p.At
		faults = append(faults, f)
	}
	return faults
}

// Between returns a time between the two; short ones are more likely.
func (p *Planner) Between(low, high time.Duration) time.Duration {
	return time.Duration(float64(low) * math.Pow(float64(high)/float64(low), p.Float64())).Round(time.Millisecond)
}

// Server draws a server of the database, by its name.
func (p *Planner) Server(of int) string {
	if of == 1 {
		return ServerName(0, 1)
	}
	return ServerName(p.IntN(of), of)
}

// ServerName is the name of a server of the database in a plan: db, or db1, db2, ...
func ServerName(i, of int) string {
	if of == 1 {
		return "db"
	}
	return fmt.Sprintf("db%d", i+1)
}
