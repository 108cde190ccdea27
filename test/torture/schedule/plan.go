package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/treadle-run/treadle/test/torture"
)

// The faults, besides those of the database.
const (
	MemberKill  torture.Kind = "member-kill"  // kill -9; started again
	MemberTerm  torture.Kind = "member-term"  // SIGTERM; started again
	MemberStop  torture.Kind = "member-stop"  // SIGSTOP, SIGCONT; often beyond staleness
	MemberAdd   torture.Kind = "member-add"   // one more
	MemberLeave torture.Kind = "member-leave" // SIGTERM; for good
	MemberLost  torture.Kind = "member-lost"  // kill -9; for good
	Shards      torture.Kind = "shards"       // another number of them
)

// kinds say how often each fault comes.
var kinds = []torture.Weighted[torture.Kind]{
	{Value: MemberKill, Weight: 20}, {Value: MemberTerm, Weight: 8}, {Value: MemberStop, Weight: 24},
	{Value: MemberAdd, Weight: 6}, {Value: MemberLeave, Weight: 3}, {Value: MemberLost, Weight: 3},
	{Value: Shards, Weight: 7}, {Value: torture.DBKill, Weight: 8}, {Value: torture.DBStop, Weight: 4},
}

// theDatabase is what has a fault of a server: a cluster that loses two of three is lost.
const theDatabase = "database"

// Plan returns the faults of a test, in order. It is a pure function of the seed and of
// what there is to break; a longer test has only more of them.
func Plan(o Options) []torture.Fault {
	servers := 0
	if o.DB != "" {
		var err error
		if servers, err = torture.Servers(o.DB); err != nil {
			return nil
		}
	}
	p := &planner{
		Planner: torture.NewPlanner(o.Seed, uint64(o.Members)<<8|uint64(servers)),
		o:       o, servers: servers, made: o.Members, busy: map[string]time.Duration{},
	}
	for i := range o.Members {
		p.members = append(p.members, memberName(i))
	}
	return p.Plan(2*o.Scale, o.For, kinds, p.fault, func() time.Duration { return p.between(0.4, 4) })
}

func memberName(i int) string { return fmt.Sprintf("m%d", i+1) }

type planner struct {
	*torture.Planner
	o       Options
	servers int      // of the database
	members []string // those that are there
	made    int
	busy    map[string]time.Duration // until when a target has a fault
}

// fault draws one. What it is done to is left alone until it is over, and for a moment
// more.
func (p *planner) fault(k torture.Kind) (torture.Fault, bool) {
	f, target, ok := p.draw(k)
	if ok {
		p.busy[target] = p.At + f.Length + p.o.Scale/2
	}
	return f, ok
}

// draw draws a fault, and what has it; false if there is nothing that it could be done
// to.
func (p *planner) draw(k torture.Kind) (f torture.Fault, target string, ok bool) {
	f.Kind = k
	switch k {
	case MemberKill:
		f.Length = p.between(0.1, 12)
		return p.member(f)
	case MemberTerm:
		f.Length = p.between(0.1, 5)
		return p.member(f)
	case MemberStop:
		f.Length = p.between(0.3, 4)
		if p.IntN(3) > 0 {
			f.Length = p.between(5.5, 15) // beyond staleness
		}
		return p.member(f)
	case MemberAdd:
		if p.o.onSQLite() || len(p.members) >= 2*p.o.Members {
			return f, "", false
		}
		f.Target = memberName(p.made)
		p.made++
		p.members = append(p.members, f.Target)
	case MemberLeave, MemberLost:
		if len(p.members) < 2 || len(p.members) <= p.o.Members/2 {
			return f, "", false
		}
		f, target, ok = p.member(f)
		p.members = slices.DeleteFunc(p.members, func(m string) bool { return ok && m == f.Target })
		return f, target, ok
	case Shards:
		f.Number = 1 + p.IntN(200)
	case torture.DBKill, torture.DBStop:
		if p.servers == 0 || p.busy[theDatabase] > p.At {
			return f, "", false
		}
		f.Target, f.Length = torture.ServerName(p.IntN(p.servers), p.servers), p.between(0.05, 6)
		if p.IntN(4) == 0 {
			f.Length = p.between(6, 12)
		}
		return f, theDatabase, true
	}
	return f, f.Target, true
}

// member gives a fault a member that has none; false if there is no such member.
func (p *planner) member(f torture.Fault) (torture.Fault, string, bool) {
	var free []string
	for _, m := range p.members {
		if p.busy[m] <= p.At {
			free = append(free, m)
		}
	}
	if len(free) == 0 {
		return f, "", false
	}
	f.Target = free[p.IntN(len(free))]
	return f, f.Target, true
}

// between returns a time between two numbers of scale units.
func (p *planner) between(low, high float64) time.Duration {
	return p.Between(time.Duration(low*float64(p.o.Scale)), time.Duration(high*float64(p.o.Scale)))
}
