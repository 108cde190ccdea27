package chain

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/treadle-run/treadle/proto"
)

func TestNewRefusesBadJobChains(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(jc *proto.JobChain)
		want string
	}{
		{"cycle", func(jc *proto.JobChain) { jc.AdjacencyList["c"] = []string{"b"} }, "in a cycle: b -> c -> b"},
		{"job before itself", func(jc *proto.JobChain) { jc.AdjacencyList["c"] = []string{"c"} }, "in a cycle: c -> c"},
		{"edge from nowhere", func(jc *proto.JobChain) { jc.AdjacencyList["x"] = []string{"a"} }, `job "x", which is not in the chain`},
		{"edge to nowhere", func(jc *proto.JobChain) { jc.AdjacencyList["c"] = []string{"x"} }, `job "c" comes before job "x"`},
		{"job null", func(jc *proto.JobChain) { jc.Jobs["a"] = nil }, `job "a" is null`},
		{"job of another id", func(jc *proto.JobChain) { jc.Jobs["a"].ID = "b" }, `job "a" says that its id is "b"`},
		{"unknown sequence", func(jc *proto.JobChain) { jc.Jobs["a"].SequenceID = "x" }, `job "a" is in sequence "x"`},
		{"sequence null", func(jc *proto.JobChain) { jc.Sequences["s"] = nil }, `sequence "s" is null`},
		{"unknown parent", func(jc *proto.JobChain) { jc.Sequences["main"].Parent = "x" }, `sequence "main" is in sequence "x"`},
		{"sequences in a cycle", func(jc *proto.JobChain) {
			jc.Sequences["s"] = &proto.Sequence{Parent: "s2"}
			jc.Sequences["s2"] = &proto.Sequence{Parent: "s"}
		}, "sequences are inside each other in a cycle"},
		{"unknown group", func(jc *proto.JobChain) { jc.Jobs["a"].Group = "x" }, `job "a" is in the parallel group "x"`},
		{"unknown group of a sequence", func(jc *proto.JobChain) { jc.Sequences["main"].Group = "x" }, `sequence "main" is in the parallel group "x"`},
		{"group without room", func(jc *proto.JobChain) { jc.Jobs["a"].Group, jc.Parallel["g"] = "g", 0 }, "no limit of at least 1"},
		{"group in two sequences", func(jc *proto.JobChain) {
			jc.Parallel["g"] = 1
			jc.Sequences["s"] = &proto.Sequence{Parent: "main"}
			jc.Jobs["a"].Group, jc.Jobs["b"].Group = "g", "g"
			move(jc, "s", "b")
		}, `the parallel group "g" of another sequence`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := New(graphOf("a -> b -> c", tt.edit))
			refused(t, err, tt.want)
		})
	}
	_, err := New(nil)
	refused(t, err, "there is no job chain")
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("the error is %v, want one with %q", err, want)
	}
	if code := proto.ErrorCode(err); code != proto.CodeInvalid {
		t.Fatalf("the error has the code %s, want %s", code, proto.CodeInvalid)
	}
}

func TestLongCyclesAreCut(t *testing.T) {
	t.Parallel()
	jc := line(100_000)
	jc.AdjacencyList["j099999"] = []string{"j000000"}
	_, err := New(jc)
	refused(t, err, "... -> ")
	if len(err.Error()) > 300 {
		t.Fatalf("the error has %d bytes", len(err.Error()))
	}
}

func TestResumeRefusesBadChains(t *testing.T) {
	t.Parallel()
	good := func() *proto.SuspendedJobChain {
		p := newPlay(t, graphOf("a -> b", nil))
		p.next("a")
		p.completes("a")
		return p.c.Suspended()
	}
	tests := []struct {
		name string
		edit func(sjc *proto.SuspendedJobChain)
		want string
	}{
		{"no job chain", func(sjc *proto.SuspendedJobChain) { sjc.JobChain = nil }, "there is no job chain"},
		{"other request", func(sjc *proto.SuspendedJobChain) { sjc.RequestID = "x" }, `of request "x"`},
		{"job in no state", func(sjc *proto.SuspendedJobChain) { sjc.JobChain.Jobs["b"].State = 99 }, `job "b" cannot be State(99)`},
		{"total tries", func(sjc *proto.SuspendedJobChain) { sjc.TotalJobTries["x"] = 1 }, `totalJobTries has job "x"`},
		{"latest tries", func(sjc *proto.SuspendedJobChain) { sjc.LatestRunJobTries["x"] = 1 }, `latestRunJobTries has job "x"`},
		{"job waits", func(sjc *proto.SuspendedJobChain) { sjc.JobNotBefore = map[string]int64{"x": 1} }, `jobNotBefore has job "x"`},
		{"failures", func(sjc *proto.SuspendedJobChain) { sjc.Failures = map[string]proto.JobFailure{"x": {}} }, `failures has job "x"`},
		{"sequence tries", func(sjc *proto.SuspendedJobChain) { sjc.SequenceTries["x"] = 1 }, `sequenceTries has sequence "x"`},
		{"sequence runs", func(sjc *proto.SuspendedJobChain) { sjc.SequenceRuns = map[string]uint{"x": 1} }, `sequenceRuns has sequence "x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sjc := roundTrip(t, good())
			tt.edit(sjc)
			_, err := Resume(sjc)
			refused(t, err, tt.want)
		})
	}
	_, err := Resume(nil)
	refused(t, err, "there is no suspended job chain")
}

// a --> |joint| --> b --> c
func TestApplyRefusesWrongEntries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(e *proto.JobLog)
		want string
	}{
		{"unknown job", func(e *proto.JobLog) { e.JobID = "x" }, `of job "x", which does not run`},
		{"structural job", func(e *proto.JobLog) { e.JobID = "joint" }, `of job "joint", which does not run`},
		{"other request", func(e *proto.JobLog) { e.RequestID = "x" }, `of request "x"`},
		{"later entry", func(e *proto.JobLog) { e.Seq = 5 }, "entry 1 was expected, but this is entry 5"},
		{"entry again", func(e *proto.JobLog) { e.Seq = 0 }, "entry 1 was expected, but this is entry 0"},
		{"later try", func(e *proto.JobLog) { e.Try = 2 }, "is try 2, but try 1 was expected"},
		{"no try", func(e *proto.JobLog) { e.Try = 0 }, "is try 0, but try 1 was expected"},
		{"later run", func(e *proto.JobLog) { e.Run = 1 }, "of run 1 of its sequences"},
		{"state not final", func(e *proto.JobLog) { e.State = proto.StateRunning }, "RUNNING, which is not the end of a try"},
		{"state unknown", func(e *proto.JobLog) { e.State = 77 }, "not the end of a try"},
		{"timeout of a sequence elsewhere", func(e *proto.JobLog) { e.TimedOut = "x" }, `timed out by sequence "x"`},
		{"job not ready", func(e *proto.JobLog) { e.JobID = "c" }, `of job "c", which is PENDING and could not run`},
		{"job complete", func(e *proto.JobLog) { e.JobID, e.Try = "a", 2 }, `of job "a", which is COMPLETE and could not run`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t, graphOf("a -> joint -> b -> c", func(jc *proto.JobChain) { jc.Jobs["joint"].Structural = true }))
			p.next("a")
			p.completes("a")
			p.next("b")
			before := p.c.Suspended()
			e := p.entry("b", proto.StateComplete)
			tt.edit(&e)
			refused(t, p.c.Apply(&e), tt.want)
			if diff := gocmp.Diff(before, p.c.Suspended()); diff != "" {
				t.Fatalf("a refused entry changed the chain:\n%s", diff)
			}
			p.completes("b") // still runs
		})
	}
	refused(t, newPlay(t, graphOf("a", nil)).c.Apply(nil), "there is no job log entry")
}

func TestEntryOfARunThatEndedBeforeTheHandOver(t *testing.T) {
	t.Parallel()
	p := newPlay(t, inSequence(1, 0))
	p.next("a")
	p.completes("a")
	p.next("b")
	late := p.entry("b", proto.StateComplete)
	p.fails("b")
	p.handOver()
	late.Seq, late.Try = p.c.Entries(), 2
	refused(t, p.c.Apply(&late), "which ended before the chain was resumed")
	p.next("b")
	refused(t, p.c.Apply(&late), "of run 0 of its sequences, which are in run 1")
}

// TestNoInputPanics gives the chain jobs, ids, states and entries at random.
func TestNoInputPanics(t *testing.T) {
	t.Parallel()
	id := rapid.SampledFrom([]string{"", "a", "b", "c", "x"})
	n := rapid.UintRange(0, 2)
	rapid.Check(t, func(t *rapid.T) {
		jc := &proto.JobChain{
			AdjacencyList: rapid.MapOfN(id, rapid.SliceOfN(id, 0, 3), 0, 3).Draw(t, "edges"),
			Parallel:      rapid.MapOfN(id, n, 0, 3).Draw(t, "limits"),
			Jobs:          map[string]*proto.Job{}, Sequences: map[string]*proto.Sequence{},
		}
		for range rapid.IntRange(0, 4).Draw(t, "jobs") {
			key := id.Draw(t, "job")
			jc.Jobs[key] = &proto.Job{ID: key, SequenceID: id.Draw(t, "in"), Group: id.Draw(t, "group"), Retry: n.Draw(t, "retry"),
				State: proto.State(rapid.IntRange(0, 8).Draw(t, "state")), Structural: rapid.Bool().Draw(t, "structural"),
				RetryWait: proto.Duration(rapid.Int64().Draw(t, "wait")), RetryBackoff: rapid.Float64().Draw(t, "factor"),
				RetryWaitMax: proto.Duration(rapid.Int64().Draw(t, "limit")), Timeout: proto.Duration(rapid.Int64().Draw(t, "timeout"))}
		}
		for range rapid.IntRange(0, 4).Draw(t, "sequences") {
			jc.Sequences[id.Draw(t, "sequence")] = &proto.Sequence{Parent: id.Draw(t, "parent"), Group: id.Draw(t, "group"),
				Retry: n.Draw(t, "retry"), Timeout: proto.Duration(rapid.Int64().Draw(t, "timeout"))}
		}
		c, err := New(jc)
		if rapid.Bool().Draw(t, "resumed") {
			c, err = Resume(&proto.SuspendedJobChain{JobChain: jc, SequenceTries: rapid.MapOfN(id, n, 0, 3).Draw(t, "tries"),
				JobNotBefore:      rapid.MapOfN(id, rapid.Int64(), 0, 3).Draw(t, "waits"),
				SequenceStartedAt: rapid.MapOfN(id, rapid.Int64(), 0, 3).Draw(t, "started")})
		}
		if err != nil {
			return
		}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			c.Next(second(float64(rapid.IntRange(0, 100).Draw(t, "second"))))
			e := &proto.JobLog{JobID: id.Draw(t, "of"), Try: n.Draw(t, "try"), Run: n.Draw(t, "run"), Seq: c.Entries(), TimedOut: id.Draw(t, "by"),
				State: proto.State(rapid.IntRange(2, 6).Draw(t, "result")), FinishedAt: rapid.Int64().Draw(t, "finished")}
			_ = c.Apply(e)
			c.Wake()
			c.Done()
			c.Reason()
			c.Suspended()
			c.JobChain()
		}
	})
}
