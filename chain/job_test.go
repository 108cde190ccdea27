package chain

import (
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// A diamond:
//
//	a --> b --> d
//	  \-> c --/
func diamond(edit func(jc *proto.JobChain)) *proto.JobChain {
	return graphOf("a -> b -> d\na -> c -> d", edit)
}

func TestJobsStartWhenAllBeforeThemAreComplete(t *testing.T) {
	t.Parallel()
	p := newPlay(t, diamond(nil))
	p.next("a")
	p.next("")
	p.completes("a")
	p.next("b c")
	p.is("a COMPLETE b RUNNING c RUNNING d PENDING")
	p.completes("c")
	p.next("")
	p.done(proto.StateUnknown)
	p.completes("b")
	p.next("d")
	p.completes("d")
	p.done(proto.StateComplete)
	if n := p.c.FinishedJobs(); n != 4 {
		t.Fatalf("%d jobs finished, want 4", n)
	}
	if r := p.c.Reason(); r != "" {
		t.Fatalf("a chain that is COMPLETE has the reason %q", r)
	}
}

func TestChainWithoutJobsIsComplete(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("", nil))
	p.next("")
	p.done(proto.StateComplete)
}

// a, b --> |joint| --> c, d
func TestStructuralJobsRunInNoTimeAndAreNotCounted(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a -> joint -> c\nb -> joint -> d", func(jc *proto.JobChain) {
		jc.Jobs["joint"].Structural = true
		// The edge is in two lines.
		jc.AdjacencyList["joint"] = []string{"c", "d"}
	}))
	if n := p.c.TotalJobs(); n != 4 {
		t.Fatalf("%d jobs, want 4", n)
	}
	p.next("a b")
	p.c.Suspend()
	p.completes("a b")
	p.is("joint COMPLETE c PENDING")
	if n := p.c.FinishedJobs(); n != 2 {
		t.Fatalf("%d jobs finished, want 2", n)
	}
	p.handOver()
	p.next("c d")
}

// a --> b
// c --> d
func TestIndependentBranchesGoOn(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a -> b\nc -> d", nil))
	p.next("a c")
	e := p.entry("a", proto.StateFail)
	e.Error = "no space left"
	p.apply(e)
	p.done(proto.StateUnknown)
	p.completes("c")
	p.next("d")
	p.fails("d")
	p.done(proto.StateFail)
	p.is("a FAIL b PENDING c COMPLETE d FAIL")
	want := "job node-a (a) failed in try 1: no space left (and 1 more failed)"
	if r := p.c.Reason(); r != want {
		t.Fatalf("the reason is %q, want %q", r, want)
	}
	p.handOver()
	if r := p.c.Reason(); r != want {
		t.Fatalf("after a hand-over the reason is %q, want %q", r, want)
	}
}

// (a) waits for its next try when the timeout of the sequence passes: also after a
// hand-over the reason has the error of the try that ran.
func TestReasonHasTheErrorBeforeATimeout(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a", func(jc *proto.JobChain) {
		jc.Jobs["a"].Retry, jc.Jobs["a"].RetryWait = 1, proto.Duration(time.Hour)
		jc.Sequences["main"].Timeout = proto.Duration(time.Minute)
	}))
	p.next("a")
	e := p.entry("a", proto.StateFail)
	e.Error = "no space left"
	p.apply(e)
	p.c.Suspend()
	p.handOver()
	p.at(60).next("a")
	p.timesOut("a", "main")
	p.done(proto.StateFail)
	want := "job node-a (a) failed in try 1: no space left; then the timeout of sequence main passed before try 2 of job node-a (a) started"
	if r := p.c.Reason(); r != want {
		t.Fatalf("the reason is %q, want %q", r, want)
	}
	p.handOver()
	if r := p.c.Reason(); r != want {
		t.Fatalf("after a hand-over the reason is %q, want %q", r, want)
	}
}

func TestReasonCutsLongErrors(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a", nil))
	p.next("a")
	e := p.entry("a", proto.StateFail)
	e.Error = strings.Repeat("é", 10_000)
	p.apply(e)
	if r := p.c.Reason(); len(r) > 600 || !strings.HasSuffix(r, "é...") {
		t.Fatalf("the reason has %d bytes", len(r))
	}
}

// a --> b
func TestJobIsTriedAgainAfterItsWait(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a -> b", func(jc *proto.JobChain) {
		jc.Jobs["a"].Retry = 2
		jc.Jobs["a"].RetryWait = proto.Duration(5 * time.Second)
	}))
	p.next("a")
	p.at(1).fails("a")
	p.wakes(6)
	p.done(proto.StateUnknown)
	p.at(5.9).next("")
	p.at(6).next("a")
	p.wakes(-1)
	p.at(7).fails("a")
	p.handOver()
	p.wakes(12)
	p.at(20).next("a")
	if try := p.starts["a"].Try; try != 3 {
		t.Fatalf("try %d, want 3", try)
	}
	p.fails("a")
	p.done(proto.StateFail)
	p.is("a FAIL b PENDING")
	p.tries("a", 3, 3)
}

// a --> b
func TestStoppedTryIsRunAgainAndUsesUpNone(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a -> b", func(jc *proto.JobChain) { jc.Jobs["a"].Retry = 1 }))
	p.next("a")
	p.fails("a")
	p.next("a")
	p.c.Suspend()
	p.stops("a")
	p.next("")
	p.done(proto.StateUnknown)
	p.is("a STOPPED")
	p.tries("a", 2, 1)
	p.handOver()
	p.next("a")
	if try := p.starts["a"].Try; try != 3 {
		t.Fatalf("try %d, want 3", try)
	}
	p.fails("a")
	p.done(proto.StateFail)
}

// a --> b
func TestLostTryIsRunAgainWithTheSameNumber(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a -> b", nil))
	p.next("a")
	p.crash()
	p.is("a PENDING")
	p.next("a")
	if try := p.starts["a"].Try; try != 1 {
		t.Fatalf("try %d, want 1", try)
	}
	p.completes("a")
	p.crash()
	p.next("b")
}

func TestStop(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(p *play)
	}{
		{"before anything runs", func(*play) {}},
		{"while jobs run that complete", func(p *play) {
			p.next("a")
			p.c.Stop()
			p.done(proto.StateUnknown)
			p.completes("a")
		}},
		{"while the last job runs", func(p *play) {
			p.next("a")
			p.completes("a")
			p.next("b c")
			p.completes("b c")
			p.next("d")
			p.c.Stop()
			p.completes("d")
		}},
		{"while a job fails that has tries left", func(p *play) {
			p.next("a")
			p.c.Stop()
			p.fails("a")
		}},
		{"during a wait", func(p *play) {
			p.next("a")
			p.fails("a")
			p.wakes(3)
		}},
		{"after suspend", func(p *play) {
			p.next("a")
			p.c.Suspend()
			p.completes("a")
			p.done(proto.StateUnknown)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t, diamond(func(jc *proto.JobChain) {
				jc.Jobs["a"].Retry = 1
				jc.Jobs["a"].RetryWait = proto.Duration(3 * time.Second)
			}))
			tt.do(p)
			p.c.Stop()
			p.c.Suspend()
			p.at(100).next("")
			p.wakes(-1)
			p.done(proto.StateStopped)
			if r := p.c.Reason(); r != "stopped by request" {
				t.Fatalf("the reason is %q", r)
			}
		})
	}
}

// a --> b
func TestSuspendedChainThatEndsByItself(t *testing.T) {
	t.Parallel()
	for state, end := range map[proto.State]func(p *play){
		proto.StateComplete: func(p *play) { p.completes("b") },
		proto.StateFail:     func(p *play) { p.fails("b") },
	} {
		p := newPlay(t, graphOf("a -> b", nil))
		p.next("a")
		p.completes("a")
		p.next("b")
		p.c.Suspend()
		p.done(proto.StateUnknown)
		end(p)
		p.done(state)
	}
}

func TestJobChainSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a -> b", func(jc *proto.JobChain) {
		// What the states were when the chain was archived does not count.
		jc.Jobs["b"].State, jc.Jobs["b"].Data = proto.StateFail, proto.Values{"x": "old"}
	}))
	state := func(want proto.State) {
		t.Helper()
		if got := p.c.JobChain().State; got != want {
			t.Fatalf("the chain is %s, want %s", got, want)
		}
	}
	state(proto.StatePending)
	p.next("a")
	state(proto.StateRunning)
	p.sets("a", proto.Values{"n": int64(1)})
	jc := p.c.JobChain()
	if jc.FinishedJobs != 1 || jc.Jobs["a"].Data["n"] != int64(1) || len(jc.Jobs["b"].Data) != 0 {
		t.Fatalf("the chain has %d finished jobs, data %v and %v", jc.FinishedJobs, jc.Jobs["a"].Data, jc.Jobs["b"].Data)
	}
	p.is("a COMPLETE b PENDING")
	p.next("b")
	p.completes("b")
	state(proto.StateComplete)
	if p.jc.Jobs["a"].State != proto.StatePending {
		t.Fatal("the job chain that the caller gave has changed")
	}
}
