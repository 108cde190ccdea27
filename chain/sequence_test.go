package chain

import (
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// main[ a --> seq[ b --> c ] --> d ]
func inSequence(retry uint, wait time.Duration) *proto.JobChain {
	return graphOf("a -> b -> c -> d", func(jc *proto.JobChain) {
		jc.Sequences["seq"] = &proto.Sequence{Name: "seq", Parent: "main", Retry: retry, RetryWait: proto.Duration(wait)}
		move(jc, "seq", "b", "c")
	})
}

func TestSequenceStartsAgainFromItsBeginning(t *testing.T) {
	t.Parallel()
	jc := inSequence(1, 10*time.Second)
	jc.Jobs["c"].Retry = 1
	p := newPlay(t, jc)
	p.next("a")
	p.completes("a")
	p.next("b")
	p.sets("b", proto.Values{"from": "first run"})
	p.next("c")
	p.fails("c")
	p.next("c")
	if p.starts["c"].Data["from"] != "first run" {
		t.Fatalf("c sees %v", p.starts["c"].Data)
	}
	p.at(5).fails("c")
	p.is("a COMPLETE b PENDING c PENDING")
	p.tries("c", 2, 0)
	p.wakes(15)
	if n := p.c.FinishedJobs(); n != 1 {
		t.Fatalf("%d jobs finished, want 1", n)
	}
	p.handOver()
	p.at(14).next("")
	p.at(15).next("b")
	if s := p.starts["b"]; s.Try != 2 || s.Run != 1 {
		t.Fatalf("b starts try %d in run %d", s.Try, s.Run)
	}
	p.completes("b")
	p.next("c") // with all its own tries
	if len(p.starts["c"].Data) != 0 {
		t.Fatalf("c sees data of the run before: %v", p.starts["c"].Data)
	}
	p.fails("c")
	p.next("c")
	p.fails("c")
	p.done(proto.StateFail)
	p.is("b COMPLETE c FAIL d PENDING")
	p.tries("c", 4, 2)
}

// main[ seq[ b1, b2 --> c ] ]
func TestJobsThatStillRunWhenTheirSequenceStartsAgain(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("b1 -> c\nb2 -> c", func(jc *proto.JobChain) {
		jc.Sequences["seq"] = &proto.Sequence{Name: "seq", Parent: "main", Retry: 1, RetryWait: proto.Duration(2 * time.Second)}
		move(jc, "seq", "b1", "b2", "c")
	}))
	p.next("b1 b2")
	p.at(1).fails("b1")
	p.is("b1 PENDING b2 RUNNING")
	p.wakes(-1) // it waits for b2, not for a time
	p.at(50).next("")
	p.completes("b2") // counts as a try, but not as COMPLETE
	p.is("b2 PENDING")
	p.tries("b2", 1, 0)
	p.wakes(52)
	p.handOver()
	p.at(52).next("b1 b2")
	if s := p.starts["b2"]; s.Try != 2 || s.Run != 1 {
		t.Fatalf("b2 starts try %d in run %d", s.Try, s.Run)
	}
	p.completes("b1 b2")
	p.next("c")
	p.completes("c")
	p.done(proto.StateComplete)
}

// outer[ inner[ a, b ], x ]
func TestJobThatRunsWhileBothSequencesAroundItStartAgain(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a\nb\nx", func(jc *proto.JobChain) {
		jc.Sequences["outer"] = &proto.Sequence{Name: "outer", Parent: "main", Retry: 1}
		jc.Sequences["inner"] = &proto.Sequence{Name: "inner", Parent: "outer", Retry: 1}
		move(jc, "inner", "a", "b")
		move(jc, "outer", "x")
	}))
	p.next("a b x")
	p.fails("a") // inner starts again
	p.next("")
	p.fails("x") // outer starts again
	p.next("")
	p.stops("b")
	p.next("a b x")
	if s := p.starts["b"]; s.Run != 2 || s.Try != 2 {
		t.Fatalf("b starts try %d in run %d", s.Try, s.Run)
	}
	p.fails("a") // inner has its tries back
	p.completes("b x")
	p.next("a b")
	p.completes("a b")
	p.done(proto.StateComplete)
	p.handOver()
}

// outer[ a --> inner[ b ] --> c ]
func TestNestedSequenceThatFailsForGoodInARetriedOne(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a -> b -> c", func(jc *proto.JobChain) {
		jc.Sequences["outer"] = &proto.Sequence{Name: "outer", Parent: "main", Retry: 1}
		jc.Sequences["inner"] = &proto.Sequence{Name: "inner", Parent: "outer", Retry: 1}
		jc.Jobs["b"].Retry = 1
		move(jc, "outer", "a", "c")
		move(jc, "inner", "b")
	}))
	for run := range 2 { // of outer
		p.next("a")
		p.completes("a")
		for range 2 { // of inner
			p.next("b")
			p.fails("b")
			p.next("b")
			p.fails("b")
		}
		if run == 0 {
			p.is("a PENDING b PENDING")
			sjc := p.c.Suspended()
			if sjc.SequenceTries["outer"] != 1 || sjc.SequenceTries["inner"] != 0 || sjc.SequenceRuns["inner"] != 1 {
				t.Fatalf("tries %v, runs %v", sjc.SequenceTries, sjc.SequenceRuns)
			}
			p.handOver()
		}
	}
	p.done(proto.StateFail)
	p.tries("b", 8, 2)
	p.tries("a", 2, 1)
	p.handOver()
}

//	seq[ a, b ] --> c     the edge leads from a only
//
// No spec gives such a graph, but the state must still follow from the log.
func TestJobAfterASequenceThatStartsAgain(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a -> c\nb", func(jc *proto.JobChain) {
		jc.Sequences["seq"] = &proto.Sequence{Name: "seq", Parent: "main", Retry: 1}
		move(jc, "seq", "a", "b")
	}))
	p.next("a b")
	p.completes("a")
	p.fails("b") // takes a back: c waits for it again
	p.next("a b")
	p.completes("b")
	p.next("")
	p.completes("a")
	p.next("c")
	p.handOver()
}

// seq[ a --> b ]     seq may take 10 s
func timed(edit func(jc *proto.JobChain)) *proto.JobChain {
	return graphOf("a -> b", func(jc *proto.JobChain) {
		jc.Sequences["seq"] = &proto.Sequence{Name: "seq", Parent: "main", Timeout: proto.Duration(10 * time.Second)}
		move(jc, "seq", "a", "b")
		edit(jc)
	})
}

func (p *play) deadline(id string, want float64, sequence string) {
	p.t.Helper()
	s := p.starts[id]
	if !s.Deadline.Equal(second(want)) || s.TimedOut != sequence {
		p.t.Fatalf("%s has the deadline %v of %q, want %v of %q", id, s.Deadline.Sub(second(0)), s.TimedOut, want, sequence)
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	p := newPlay(t, timed(func(jc *proto.JobChain) {
		jc.Jobs["a"].Timeout = proto.Duration(4 * time.Second)
		jc.Jobs["a"].Retry = 9
		jc.Sequences["main"].Timeout = proto.Duration(12 * time.Second)
	}))
	p.at(1).next("a")
	p.deadline("a", 5, "")
	p.at(3).fails("a")
	p.next("a")
	p.deadline("a", 7, "")
	p.at(7).fails("a")
	p.handOver()
	p.next("a")
	p.deadline("a", 11, "seq") // of the first start of the sequence on
	p.at(8).completes("a")
	p.next("b")
	p.deadline("b", 11, "seq")

	p = newPlay(t, graphOf("a", nil))
	p.next("a")
	if d := p.starts["a"].Deadline; !d.IsZero() {
		t.Fatalf("a job without timeouts has the deadline %v", d)
	}
}

func TestSequenceThatTimesOutFailsForGood(t *testing.T) {
	t.Parallel()
	p := newPlay(t, timed(func(jc *proto.JobChain) {
		jc.Jobs["a"].Retry = 5
		jc.Sequences["seq"].Retry = 5
	}))
	p.next("a")
	p.at(10).timesOut("a", "seq")
	p.done(proto.StateFail)
	p.is("a FAIL b PENDING")
	p.handOver()
	p.next("")
}

func TestSequenceThatTimesOutWhileItsJobWaits(t *testing.T) {
	t.Parallel()
	for _, handOver := range []bool{false, true} {
		p := newPlay(t, timed(func(jc *proto.JobChain) {
			jc.Jobs["a"].Retry = 5
			jc.Jobs["a"].RetryWait = proto.Duration(time.Hour)
		}))
		p.at(1).next("a")
		p.at(2).fails("a")
		if handOver {
			p.handOver()
		}
		p.wakes(11)
		p.at(11).next("a")
		p.deadline("a", 11, "seq")
		p.timesOut("a", "seq")
		p.done(proto.StateFail)
	}
}

func TestSequenceThatTimesOutWhileItWaitsForItself(t *testing.T) {
	t.Parallel()
	p := newPlay(t, timed(func(jc *proto.JobChain) {
		jc.Sequences["seq"].Retry = 5
		jc.Sequences["seq"].RetryWait = proto.Duration(time.Hour)
	}))
	p.next("a")
	p.at(2).fails("a")
	p.wakes(10)
	p.at(12).next("a")
	p.timesOut("a", "seq")
	p.done(proto.StateFail)
}

// outer[ seq[ a, b --> c ] ]     seq may take 10 s; outer starts again
func TestTimeoutCountsAnewWhenTheSequenceAroundStartsAgain(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a -> c\nb -> c", func(jc *proto.JobChain) {
		jc.Sequences["outer"] = &proto.Sequence{Name: "outer", Parent: "main", Retry: 1}
		jc.Sequences["seq"] = &proto.Sequence{Name: "seq", Parent: "outer", Timeout: proto.Duration(10 * time.Second), Retry: 3}
		jc.Jobs["c"].Retry = 3
		move(jc, "seq", "a", "b", "c")
	}))
	p.next("a b")
	p.at(10).timesOut("a", "seq")
	p.is("a PENDING b RUNNING")
	p.timesOut("b", "seq") // of the run before: changes nothing
	p.handOver()
	p.at(20).next("a b")
	p.deadline("a", 30, "seq")
	p.completes("a b")
	p.next("c")
	p.at(30).timesOut("c", "seq") // outer has no tries left
	p.done(proto.StateFail)
	p.is("a COMPLETE c FAIL")
	p.handOver()
}

// seq[ a, b, c --> d ]
func TestNothingStartsInASequenceThatTimedOut(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a\nb\nc -> d", func(jc *proto.JobChain) {
		jc.Sequences["seq"] = &proto.Sequence{Name: "seq", Parent: "main", Timeout: proto.Duration(10 * time.Second)}
		jc.Jobs["b"].Retry, jc.Jobs["b"].RetryWait = 1, proto.Duration(9*time.Second)
		move(jc, "seq", "a", "b", "c", "d")
	}))
	p.next("a b c")
	p.at(5).fails("b")
	p.at(10).timesOut("a", "seq")
	p.wakes(-1)
	p.completes("c") // it was quicker than its deadline
	p.at(100).next("")
	p.done(proto.StateFail)
	p.is("a FAIL b PENDING c COMPLETE d PENDING")
	p.handOver()
	p.next("")
}

//	seq[ a, b ]     x --> b; seq may take 10 s
//
// The entry of b comes first, but a started first: the timeout counts from a.
func TestReplayFindsWhenASequenceStarted(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a\nx -> b", func(jc *proto.JobChain) {
		jc.Sequences["seq"] = &proto.Sequence{Name: "seq", Parent: "main", Timeout: proto.Duration(10 * time.Second)}
		jc.Jobs["b"].Retry, jc.Jobs["b"].RetryWait = 1, proto.Duration(time.Hour)
		move(jc, "seq", "a", "b")
	}))
	p.next("a x")
	p.at(3).completes("x")
	p.next("b")
	p.at(4).fails("b")
	p.at(5).completes("a")
	p.wakes(10)
	p.c = p.replayed()
	p.wakes(10)
	p.at(9.9).next("")
	p.at(10).next("b")
	p.timesOut("b", "seq")
	p.done(proto.StateFail)
}

// main[ s0[ a0 ], s1[ a1 ], ... ]     all run; each fails and starts again
func TestManySequencesStartAgainWhileManyJobsRun(t *testing.T) {
	t.Parallel()
	const n = 2000
	jc := plainJobs(n)
	for id := range jc.Jobs {
		jc.Sequences["s"+id] = &proto.Sequence{Name: "s", Parent: "main", Retry: 1}
		move(jc, "s"+id, id)
	}
	p := newPlay(t, jc)
	starts := p.c.Next(p.now)
	for _, s := range starts {
		p.starts[s.Job.ID] = s
		p.fails(s.Job.ID)
	}
	if again := p.c.Next(p.now); len(starts) != n || len(again) != n || again[0].Run != 1 {
		t.Fatalf("%d jobs start, then %d", len(starts), len(again))
	}
}

// seq[ b1, b2 ]     b2 still runs when b1 fails
func TestReplayFindsHowLongASequenceWaits(t *testing.T) {
	t.Parallel()
	for _, asksOften := range []bool{false, true} {
		p := newPlay(t, graphOf("b1\nb2", func(jc *proto.JobChain) {
			jc.Sequences["seq"] = &proto.Sequence{Name: "seq", Parent: "main", Retry: 1, RetryWait: proto.Duration(2 * time.Second)}
			move(jc, "seq", "b1", "b2")
		}))
		p.next("b1 b2")
		p.at(1).fails("b1")
		p.at(50).completes("b2")
		p.c = p.replayed()
		if asksOften {
			p.next("")
			p.wakes(52)
			p.at(51).next("")
		}
		p.wakes(52)
		p.at(52).next("b1 b2")
	}
}

// seq[ a, inner[ b ] ]     seq times out while inner waits for its next try
func TestTimeoutEndsTheWaitsInside(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a\nb", func(jc *proto.JobChain) {
		jc.Sequences["seq"] = &proto.Sequence{Name: "seq", Parent: "main", Timeout: proto.Duration(10 * time.Second)}
		jc.Sequences["inner"] = &proto.Sequence{Name: "inner", Parent: "seq", Retry: 1, RetryWait: proto.Duration(time.Minute)}
		move(jc, "seq", "a")
		move(jc, "inner", "b")
	}))
	p.next("a b")
	p.at(1).fails("b")
	p.at(10).timesOut("a", "seq")
	p.done(proto.StateFail)
	if waits := p.c.Suspended().SequenceNotBefore; len(waits) != 0 {
		t.Fatalf("these still wait: %v", waits)
	}
}
