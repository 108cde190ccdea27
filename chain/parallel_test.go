package chain

import (
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// a, b, c, d     two at a time
func window(edit func(jc *proto.JobChain)) *proto.JobChain {
	return graphOf("a\nb\nc\nd", func(jc *proto.JobChain) {
		jc.Parallel["g"] = 2
		for _, job := range jc.Jobs {
			job.Group = "g"
		}
		if edit != nil {
			edit(jc)
		}
	})
}

func TestParallelIsASlidingWindow(t *testing.T) {
	t.Parallel()
	p := newPlay(t, window(nil))
	p.next("a b")
	p.next("")
	p.completes("b")
	p.next("c")
	p.fails("a")
	p.next("d")
	p.completes("c d")
	p.done(proto.StateFail)
}

func TestMemberKeepsItsRoomWhileItWaits(t *testing.T) {
	t.Parallel()
	for _, handOver := range []bool{false, true} {
		p := newPlay(t, window(func(jc *proto.JobChain) {
			jc.Jobs["b"].Retry, jc.Jobs["b"].RetryWait = 1, proto.Duration(9*time.Second)
		}))
		p.next("a b")
		p.fails("b")
		p.next("")
		p.completes("a")
		if handOver {
			p.handOver()
		}
		p.next("c")
		p.next("")
		p.at(9).next("b")
		p.fails("b")
		p.next("d")
	}
}

func TestMembersThatHadStartedGoFirstAfterAHandOver(t *testing.T) {
	t.Parallel()
	p := newPlay(t, window(nil))
	p.next("a b")
	p.completes("a")
	p.next("c")
	p.c.Suspend()
	p.completes("b")
	p.stops("c")
	p.handOver()
	p.next("c d")
}

// x[ a1 --> a2 ], y[ b1 --> b2 ], z[ c1 ]     one at a time
func TestSequencesAsMembers(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a1 -> a2\nb1 -> b2\nc1", func(jc *proto.JobChain) {
		jc.Parallel["g"] = 1
		for id, jobs := range map[string][]string{"x": {"a1", "a2"}, "y": {"b1", "b2"}, "z": {"c1"}} {
			jc.Sequences[id] = &proto.Sequence{Name: id, Parent: "main", Group: "g", Retry: 1}
			move(jc, id, jobs...)
		}
	}))
	p.next("a1")
	p.completes("a1")
	p.next("a2")
	p.fails("a2") // x keeps its room and starts again
	p.next("a1")
	p.handOver2("a1")
	p.next("a1")
	p.completes("a1")
	p.next("a2")
	p.fails("a2") // for good
	p.next("b1")
	p.completes("b1")
	p.next("b2")
	p.completes("b2")
	p.next("c1")
	p.completes("c1")
	p.done(proto.StateFail)
}

// handOver2 stops the one job that runs, and hands the chain over.
func (p *play) handOver2(id string) {
	p.t.Helper()
	p.c.Suspend()
	p.stops(id)
	p.handOver()
}

// outer[ a, b, c ]     two at a time; outer starts again
func TestGroupInASequenceThatStartsAgain(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a\nb\nc", func(jc *proto.JobChain) {
		jc.Parallel["g"] = 2
		jc.Sequences["outer"] = &proto.Sequence{Name: "outer", Parent: "main", Retry: 1}
		for id, job := range jc.Jobs {
			job.Group = "g"
			move(jc, "outer", id)
		}
	}))
	p.next("a b")
	p.completes("a")
	p.next("c")
	p.fails("b") // while c runs
	p.next("")
	p.completes("c")
	p.next("a b")
	p.completes("a b")
	p.next("c")
	p.completes("c")
	p.done(proto.StateComplete)
}

// x[ a1, a2, a3 ], y[ b1, b2 ]     x, y one at a time; in each two jobs at a time
func TestGroupInAMember(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a1\na2\na3\nb1\nb2", func(jc *proto.JobChain) {
		jc.Parallel = map[string]uint{"outer": 1, "gx": 2, "gy": 2}
		for id, jobs := range map[string][]string{"x": {"a1", "a2", "a3"}, "y": {"b1", "b2"}} {
			jc.Sequences[id] = &proto.Sequence{Name: id, Parent: "main", Group: "outer"}
			move(jc, id, jobs...)
			for _, j := range jobs {
				jc.Jobs[j].Group = "g" + id
			}
		}
	}))
	p.next("a1 a2")
	p.completes("a2")
	p.next("a3")
	p.completes("a1")
	p.next("")
	p.completes("a3")
	p.next("b1 b2")
}

func TestWideGroupIsNotScannedOnEachStart(t *testing.T) {
	t.Parallel()
	const n = 10_000
	jc := wide(n)
	jc.Parallel = map[string]uint{"g": 3}
	for id, job := range jc.Jobs {
		if id != "first" && id != "last" {
			job.Group = "g"
		}
	}
	c, err := New(jc)
	if err != nil {
		t.Fatal(err)
	}
	if steps, got := run(t, c), c.FinishedJobs(); got != n+2 || steps < n/3 {
		t.Fatalf("%d jobs finished in %d steps", got, steps)
	}
}
