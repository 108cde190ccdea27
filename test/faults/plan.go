package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// kind is what is done to something.
type kind string

// The faults. Those of links are done to the connections between a pair.
const (
	jrKill  kind = "jr-kill"  // kill -9; started again later
	jrMove  kind = "jr-move"  // kill -9; it never comes back, another one starts elsewhere
	jrTerm  kind = "jr-term"  // SIGTERM; started again later
	jrStop  kind = "jr-stop"  // SIGSTOP, SIGCONT
	jrDrain kind = "jr-drain" // an operator drains it, and ends that
	rmKill  kind = "rm-kill"
	rmTerm  kind = "rm-term"
	rmStop  kind = "rm-stop"
	dbKill  kind = "db-kill"
	dbStop  kind = "db-stop"
	cut     kind = "cut"  // connections break, new ones are refused
	hole    kind = "hole" // connections stay open, nothing passes
	slow    kind = "slow" // everything takes longer
)

// fault is one thing that goes wrong for some time.
type fault struct {
	At     time.Duration `json:"at"` // since the beginning
	Kind   kind          `json:"kind"`
	Target string        `json:"target"` // jr1, rm2, db, or a link such as jr1>rm2
	Length time.Duration `json:"length"`
	Delay  time.Duration `json:"delay,omitempty"` // of everything that passes a slow link
}

func (f fault) String() string {
	s := fmt.Sprintf("%7.1fs %-8s %-8s for %s", f.At.Seconds(), f.Kind, f.Target, f.Length.Round(10*time.Millisecond))
	if f.Delay > 0 {
		s += fmt.Sprintf(", %s each way", f.Delay.Round(time.Millisecond))
	}
	return s
}

// topology is what there is to break.
type topology struct {
	rms, jrs  int
	databases int // servers of the database
}

// plan returns the faults of a seed, in order, at most gap from one to the next. It
// is a pure function: a seed gives the same faults always, a longer time only more
// of them.
func plan(seed uint64, t topology, gap, length time.Duration) []fault {
	p := &planner{rand.New(rand.NewPCG(seed, uint64(t.rms)<<16|uint64(t.jrs)<<8)), t}
	var faults []fault
	for at := 3 * time.Second; ; at += p.between(gap/10, gap) {
		if at >= length {
			return faults
		}
		f := p.next()
		f.At = at
		faults = append(faults, f)
	}
}

type planner struct {
	*rand.Rand
	t topology
}

// weights say how often each kind comes.
var weights = []struct {
	kind   kind
	weight int
}{
	{jrKill, 18}, {jrMove, 5}, {jrTerm, 8}, {jrStop, 14}, {jrDrain, 4},
	{rmKill, 9}, {rmTerm, 3}, {rmStop, 6},
	{dbKill, 6}, {dbStop, 3},
	{cut, 10}, {hole, 10}, {slow, 6},
}

func (p *planner) next() fault {
	total := 0
	for _, w := range weights {
		total += w.weight
	}
	n := p.IntN(total)
	for _, w := range weights {
		if n -= w.weight; n >= 0 {
			continue
		}
		if p.t.databases == 0 && (w.kind == dbKill || w.kind == dbStop) {
			return p.next()
		}
		return p.fault(w.kind)
	}
	panic("faults: weights")
}

func (p *planner) fault(k kind) fault {
	f := fault{Kind: k}
	switch k {
	case jrKill, jrMove:
		f.Target, f.Length = p.jr(), p.between(100*time.Millisecond, 20*time.Second)
	case jrTerm:
		f.Target, f.Length = p.jr(), p.between(100*time.Millisecond, 5*time.Second)
	case jrDrain:
		f.Target, f.Length = p.jr(), p.between(2*time.Second, 8*time.Second)
	case jrStop:
		f.Target, f.Length = p.jr(), p.shortOrLong(300*time.Millisecond, 4*time.Second, 20*time.Second)
	case rmKill, rmTerm:
		f.Target, f.Length = p.rm(), p.between(100*time.Millisecond, 8*time.Second)
	case rmStop:
		f.Target, f.Length = p.rm(), p.between(time.Second, 15*time.Second)
	case dbKill:
		f.Target, f.Length = p.db(), p.shortOrLong(10*time.Millisecond, 4*time.Second, 15*time.Second)
	case dbStop:
		f.Target, f.Length = p.db(), p.between(500*time.Millisecond, 10*time.Second)
	default:
		f.Target, f.Length = p.link(), p.shortOrLong(500*time.Millisecond, 5*time.Second, 15*time.Second)
		if k == slow {
			f.Delay = p.between(10*time.Millisecond, 400*time.Millisecond)
		}
	}
	return f
}

func (p *planner) jr() string { return fmt.Sprintf("jr%d", 1+p.IntN(p.t.jrs)) }
func (p *planner) rm() string { return fmt.Sprintf("rm%d", 1+p.IntN(p.t.rms)) }

func (p *planner) db() string {
	if p.t.databases == 1 {
		return databaseName(0, 1)
	}
	return databaseName(p.IntN(p.t.databases), p.t.databases)
}

func (p *planner) link() string {
	n := p.IntN(10)
	switch {
	case n < 2 && p.t.databases > 0:
		return linkName(p.rm(), "db")
	case n < 6:
		return linkName(p.jr(), p.rm())
	default:
		return linkName(p.rm(), p.jr())
	}
}

// between returns a time between the two; short ones are more likely.
func (p *planner) between(low, high time.Duration) time.Duration {
	return time.Duration(float64(low) * math.Pow(float64(high)/float64(low), p.Float64())).Round(time.Millisecond)
}

// shortOrLong returns a time that is over well before a lease is, or one that may
// be longer.
func (p *planner) shortOrLong(low, middle, high time.Duration) time.Duration {
	if p.IntN(2) == 0 {
		return p.between(low, middle)
	}
	return p.between(middle, high)
}

func linkName(from, to string) string { return from + ">" + to }
