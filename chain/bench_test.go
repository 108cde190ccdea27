package chain

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/treadle-run/treadle/proto"
)

func plainJobs(n int) *proto.JobChain {
	jc := &proto.JobChain{RequestID: "req", Jobs: make(map[string]*proto.Job, n), AdjacencyList: make(map[string][]string, n),
		Sequences: map[string]*proto.Sequence{"main": {Name: "main"}}}
	for i := range n {
		id := fmt.Sprintf("j%06d", i)
		jc.Jobs[id] = &proto.Job{ID: id, Name: id, State: proto.StatePending, Data: proto.Values{}, SequenceID: "main"}
	}
	return jc
}

// line returns a chain of jobs, each after the one before.
func line(n int) *proto.JobChain {
	jc := plainJobs(n)
	for i := range n - 1 {
		jc.AdjacencyList[fmt.Sprintf("j%06d", i)] = []string{fmt.Sprintf("j%06d", i+1)}
	}
	return jc
}

// wide returns first --> n jobs --> last.
func wide(n int) *proto.JobChain {
	jc := plainJobs(n)
	var all []string
	for id := range jc.Jobs {
		all = append(all, id)
		jc.AdjacencyList[id] = []string{"last"}
	}
	jc.AdjacencyList["first"] = all
	for _, id := range []string{"first", "last"} {
		jc.Jobs[id] = &proto.Job{ID: id, Name: id, State: proto.StatePending, Data: proto.Values{}, SequenceID: "main"}
	}
	return jc
}

// run completes every job as soon as it starts, and returns how often it asked.
func run(t rapid.TB, c *Chain) int {
	t.Helper()
	now := time.Unix(1000, 0)
	for n := 1; ; n++ {
		starts := c.Next(now)
		if len(starts) == 0 {
			if state, ok := c.Done(); !ok || state != proto.StateComplete {
				t.Fatalf("the chain ends %s %v", state, ok)
			}
			return n
		}
		for _, s := range starts {
			e := proto.JobLog{RequestID: c.RequestID(), JobID: s.Job.ID, Try: s.Try, Run: s.Run, Seq: c.Entries(),
				State: proto.StateComplete, StartedAt: now.UnixNano(), FinishedAt: now.UnixNano()}
			if s.Try == 1 && c.Entries() == 0 {
				e.Data = proto.Values{"k": "v"}
			}
			if err := c.Apply(&e); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func shapes() map[string]*proto.JobChain {
	return map[string]*proto.JobChain{"line": line(100_000), "wide": wide(100_000)}
}

// BenchmarkNew shows what a chain of 100,000 jobs costs beside the job chain it
// is made of.
func BenchmarkNew(b *testing.B) {
	for name, jc := range shapes() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := heapBytes()
			var c *Chain
			for b.Loop() {
				c = mustNew(b, jc)
			}
			b.ReportMetric(float64(heapBytes()-before)/float64(len(jc.Jobs)), "B/job")
			runtime.KeepAlive(c)
		})
	}
}

// BenchmarkRun runs chains to their end; ns/entry is Next and Apply together.
func BenchmarkRun(b *testing.B) {
	for name, jc := range map[string]*proto.JobChain{"line-10000": line(10_000), "line-100000": line(100_000),
		"wide-10000": wide(10_000), "wide-100000": wide(100_000)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				c := mustNew(b, jc)
				b.StartTimer()
				run(b, c)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(jc.Jobs)), "ns/entry")
		})
	}
}

// BenchmarkSuspend is one hand-over of a chain of 100,000 jobs.
func BenchmarkSuspend(b *testing.B) {
	c := mustNew(b, line(100_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Resume(c.Suspended()); err != nil {
			b.Fatal(err)
		}
	}
}

func mustNew(b *testing.B, jc *proto.JobChain) *Chain {
	c, err := New(jc)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
