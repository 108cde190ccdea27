package torture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is what goes wrong.
type Kind string

// The faults.
const (
	MemberKill  Kind = "member-kill"  // kill -9; started again
	MemberTerm  Kind = "member-term"  // SIGTERM; started again
	MemberStop  Kind = "member-stop"  // SIGSTOP, SIGCONT; often beyond staleness
	MemberAdd   Kind = "member-add"   // one more
	MemberLeave Kind = "member-leave" // SIGTERM; for good
	MemberLost  Kind = "member-lost"  // kill -9; for good
	Shards      Kind = "shards"       // another number of them
	DBKill      Kind = "db-kill"      // kill -9 of a server of the database; started again
	DBStop      Kind = "db-stop"      // SIGSTOP, SIGCONT
)

// Fault is one thing that goes wrong for some time.
type Fault struct {
	At     time.Duration `json:"at"` // since the beginning
	Kind   Kind          `json:"kind"`
	Member string        `json:"member,omitempty"`
	Number int           `json:"number,omitempty"` // of shards, or of the server
	Length time.Duration `json:"length,omitempty"`
}

func (f Fault) String() string {
	s := fmt.Sprintf("%7.1fs %-12s", f.At.Seconds(), f.Kind)
	if f.Member != "" {
		s += " " + f.Member
	} else {
		s += fmt.Sprintf(" %d", f.Number)
	}
	if f.Length > 0 {
		s += fmt.Sprintf(" for %s", f.Length.Round(10*time.Millisecond))
	}
	return s
}

var weights = []struct {
	kind   Kind
	weight int
}{
	{MemberKill, 20}, {MemberTerm, 8}, {MemberStop, 24}, {MemberAdd, 6}, {MemberLeave, 3}, {MemberLost, 3},
	{Shards, 7}, {DBKill, 8}, {DBStop, 4},
}

// Plan returns the faults of a seed, in order. It is a pure function: a seed gives the
// same faults always, a longer time only more of them.
func Plan(o Options) []Fault {
	p := &planner{Rand: rand.New(rand.NewPCG(o.Seed, uint64(o.Members)<<8|uint64(len(o.Servers)))), o: o, busy: map[string]time.Duration{}}
	for i := range o.Members {
		p.members = append(p.members, memberName(i))
	}
	p.made = o.Members
	var faults []Fault
	for p.at = 2 * o.Scale; p.at < o.For; p.at += p.between(0.4, 4) {
		f := p.next()
		f.At = p.at
		// What it is done to is left alone until it is over, and for a moment more.
		p.busy[f.target()] = p.at + f.Length + o.Scale/2
		faults = append(faults, f)
	}
	return faults
}

// target is what has one fault at a time: a member, or the database with all its
// servers, since a cluster that loses two of three is lost.
func (f Fault) target() string {
	switch f.Kind {
	case DBKill, DBStop:
		return "database"
	case Shards:
		return "shards"
	}
	return f.Member
}

func memberName(i int) string { return fmt.Sprintf("m%d", i+1) }

type planner struct {
	*rand.Rand
	o       Options
	at      time.Duration
	members []string // those that are there
	made    int
	busy    map[string]time.Duration // until when a target has a fault
}

func (p *planner) next() Fault {
	total := 0
	for _, w := range weights {
		total += w.weight
	}
	for {
		n := p.IntN(total)
		for _, w := range weights {
			if n -= w.weight; n < 0 {
				if f, ok := p.fault(w.kind); ok {
					return f
				}
				break
			}
		}
	}
}

// fault makes one; false if there is nothing that it could be done to.
func (p *planner) fault(k Kind) (Fault, bool) {
	f := Fault{Kind: k}
	switch k {
	case MemberKill:
		f.Length = p.between(0.1, 12)
		return p.of(f)
	case MemberTerm:
		f.Length = p.between(0.1, 5)
		return p.of(f)
	case MemberStop:
		f.Length = p.between(0.3, 4)
		if p.IntN(3) > 0 {
			f.Length = p.between(5.5, 15) // beyond staleness
		}
		return p.of(f)
	case MemberAdd:
		if p.o.Store.SQLitePath != "" || len(p.members) >= 2*p.o.Members {
			return f, false
		}
		f.Member = memberName(p.made)
		p.made++
		p.members = append(p.members, f.Member)
	case MemberLeave, MemberLost:
		if len(p.members) < 2 || len(p.members) <= p.o.Members/2 {
			return f, false
		}
		var ok bool
		if f, ok = p.of(f); !ok {
			return f, false
		}
		p.members = slices.DeleteFunc(p.members, func(m string) bool { return m == f.Member })
	case Shards:
		f.Number = 1 + p.IntN(200)
	case DBKill, DBStop:
		if len(p.o.Servers) == 0 || p.busy["database"] > p.at {
			return f, false
		}
		f.Number, f.Length = p.IntN(len(p.o.Servers)), p.between(0.05, 6)
		if p.IntN(4) == 0 {
			f.Length = p.between(6, 12)
		}
	}
	return f, true
}

// of gives a fault a member that has none; false if there is no such member.
func (p *planner) of(f Fault) (Fault, bool) {
	var free []string
	for _, m := range p.members {
		if p.busy[m] <= p.at {
			free = append(free, m)
		}
	}
	if len(free) == 0 {
		return f, false
	}
	f.Member = free[p.IntN(len(free))]
	return f, true
}

// between returns a time between two numbers of scale units; short ones are more
// likely.
func (p *planner) between(low, high float64) time.Duration {
	return time.Duration(low * math.Pow(high/low, p.Float64()) * float64(p.o.Scale)).Round(time.Millisecond)
}
