package requests

import (
	"fmt"
	"time"

	"github.com/treadle-run/treadle/test/torture"
)

// The faults, besides those of the database. Those of links are done to the connections
// between a pair.
const (
	jrKill  torture.Kind = "jr-kill"  // kill -9; started again later
	jrMove  torture.Kind = "jr-move"  // kill -9; it never comes back, another one starts elsewhere
	jrTerm  torture.Kind = "jr-term"  // SIGTERM; started again later
	jrStop  torture.Kind = "jr-stop"  // SIGSTOP, SIGCONT
	jrDrain torture.Kind = "jr-drain" // an operator drains it, and ends that
	rmKill  torture.Kind = "rm-kill"
	rmTerm  torture.Kind = "rm-term"
	rmStop  torture.Kind = "rm-stop"
	cut     torture.Kind = "cut"  // connections break, new ones are refused
	hole    torture.Kind = "hole" // connections stay open, nothing passes
	slow    torture.Kind = "slow" // everything takes longer
)

// kinds say how often each fault comes.
var kinds = []torture.Weighted[torture.Kind]{
	{Value: jrKill, Weight: 18}, {Value: jrMove, Weight: 5}, {Value: jrTerm, Weight: 8}, {Value: jrStop, Weight: 14}, {Value: jrDrain, Weight: 4},
	{Value: rmKill, Weight: 9}, {Value: rmTerm, Weight: 3}, {Value: rmStop, Weight: 6},
	{Value: torture.DBKill, Weight: 6}, {Value: torture.DBStop, Weight: 3},
	{Value: cut, Weight: 10}, {Value: hole, Weight: 10}, {Value: slow, Weight: 6},
}

// Plan returns the faults of a test, in order. It is a pure function of the seed and of
// what there is to break; a longer test has only more of them.
func Plan(o Options) []torture.Fault {
	servers, err := torture.Servers(o.DB)
	if err != nil {
		return nil
	}
	if o.DB == torture.OnSQLite {
		o.RMs = 1
	}
	p := &planner{torture.NewPlanner(o.Seed, uint64(o.RMs)<<16|uint64(o.JRs)<<8), o.RMs, o.JRs, servers}
	return p.Plan(3*time.Second, o.For, kinds, p.fault, func() time.Duration { return p.Between(o.Gap/10, o.Gap) })
}

type planner struct {
	*torture.Planner
	rms, jrs, servers int
}

func (p *planner) fault(k torture.Kind) (torture.Fault, bool) {
	f := torture.Fault{Kind: k}
	switch k {
	case jrKill, jrMove:
		f.Target, f.Length = p.jr(), p.Between(100*time.Millisecond, 20*time.Second)
	case jrTerm:
		f.Target, f.Length = p.jr(), p.Between(100*time.Millisecond, 5*time.Second)
	case jrDrain:
		f.Target, f.Length = p.jr(), p.Between(2*time.Second, 8*time.Second)
	case jrStop:
		f.Target, f.Length = p.jr(), p.shortOrLong(300*time.Millisecond, 4*time.Second, 20*time.Second)
	case rmKill, rmTerm:
		f.Target, f.Length = p.rm(), p.Between(100*time.Millisecond, 8*time.Second)
	case rmStop:
		f.Target, f.Length = p.rm(), p.Between(time.Second, 15*time.Second)
	case torture.DBKill, torture.DBStop:
		if p.servers == 0 {
			return f, false
		}
		f.Target = p.Server(p.servers)
		if k == torture.DBKill {
			f.Length = p.shortOrLong(10*time.Millisecond, 4*time.Second, 15*time.Second)
		} else {
			f.Length = p.Between(500*time.Millisecond, 10*time.Second)
		}
	default:
		f.Target, f.Length = p.link(), p.shortOrLong(500*time.Millisecond, 5*time.Second, 15*time.Second)
		if k == slow {
			f.Delay = p.Between(10*time.Millisecond, 400*time.Millisecond)
		}
	}
	return f, true
}

func (p *planner) jr() string { return fmt.Sprintf("jr%d", 1+p.IntN(p.jrs)) }
func (p *planner) rm() string { return fmt.Sprintf("rm%d", 1+p.IntN(p.rms)) }

func (p *planner) link() string {
	n := p.IntN(10)
	switch {
	case n < 2 && p.servers > 0:
		return linkName(p.rm(), "db")
	case n < 6:
		return linkName(p.jr(), p.rm())
	default:
		return linkName(p.rm(), p.jr())
	}
}

// shortOrLong returns a time that is over well before a lease is, or one that may
// be longer.
func (p *planner) shortOrLong(low, middle, high time.Duration) time.Duration {
	if p.IntN(2) == 0 {
		return p.Between(low, middle)
	}
	return p.Between(middle, high)
}

func linkName(from, to string) string { return from + ">" + to }
