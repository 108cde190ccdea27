package chain

import (
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

// graphOf returns a job chain from lines such as "a -> b -> c"; more than one
// line may name a job. "main" is the sequence of the request; every job is in it
// unless edit moves it.
func graphOf(lines string, edit func(jc *proto.JobChain)) *proto.JobChain {
	jc := &proto.JobChain{
		RequestID:     "req",
		Jobs:          map[string]*proto.Job{},
		AdjacencyList: map[string][]string{},
		Sequences:     map[string]*proto.Sequence{"main": {Name: "main"}},
		Parallel:      map[string]uint{},
	}
	for line := range strings.Lines(lines) {
		last := ""
		for id := range strings.SplitSeq(strings.TrimSpace(line), " -> ") {
			if id == "" {
				continue
			}
			if jc.Jobs[id] == nil {
				jc.Jobs[id] = &proto.Job{ID: id, Name: "node-" + id, State: proto.StatePending, Data: proto.Values{}, SequenceID: "main"}
			}
			if last != "" {
				jc.AdjacencyList[last] = append(jc.AdjacencyList[last], id)
			}
			last = id
		}
	}
	if edit != nil {
		edit(jc)
	}
	return jc
}

// move puts jobs into a sequence.
func move(jc *proto.JobChain, sequence string, ids ...string) {
	for _, id := range ids {
		jc.Jobs[id].SequenceID = sequence
	}
}

// play is a runner in the hands of a test. Its clock starts at second 1000; the
// tests count seconds from there.
type play struct {
	t      *testing.T
	jc     *proto.JobChain
	c      *Chain
	now    time.Time
	starts map[string]Start
	since  map[string]int64
	log    []proto.JobLog
}

func newPlay(t *testing.T, jc *proto.JobChain) *play {
	t.Helper()
	jc = roundTrip(t, jc) // as a runner gets it
	c, err := New(jc)
	if err != nil {
		t.Fatal(err)
	}
	return &play{t: t, jc: jc, c: c, now: second(0), starts: map[string]Start{}, since: map[string]int64{}}
}

func second(n float64) time.Time { return time.Unix(1000, int64(n*1e9)) }

// at moves the clock to a second.
func (p *play) at(n float64) *play {
	p.now = second(n)
	return p
}

// next expects that exactly these jobs start, in this order: "a b".
func (p *play) next(want string) {
	p.t.Helper()
	var got []string
	for _, s := range p.c.Next(p.now) {
		got = append(got, s.Job.ID)
		p.starts[s.Job.ID] = s
		p.since[s.Job.ID] = p.now.UnixNano()
	}
	if g := strings.Join(got, " "); g != want {
		p.t.Fatalf("at %v these start: %q, want %q", p.now.Sub(second(0)), g, want)
	}
}

// entry returns the entry of the latest start of a job.
func (p *play) entry(id string, state proto.State) proto.JobLog {
	s, ok := p.starts[id]
	if !ok {
		p.t.Fatalf("%s was never started", id)
	}
	return proto.JobLog{RequestID: p.jc.RequestID, JobID: id, Try: s.Try, Run: s.Run, Seq: p.c.Entries(),
		StartedAt: p.since[id], FinishedAt: p.now.UnixNano(), State: state}
}

func (p *play) apply(e proto.JobLog) {
	p.t.Helper()
	if err := p.c.Apply(&e); err != nil {
		p.t.Fatal(err)
	}
	p.log = append(p.log, e)
}

// completes, fails and stops end the running tries of jobs: "a b".
func (p *play) completes(ids string) { p.t.Helper(); p.end(ids, proto.StateComplete) }
func (p *play) fails(ids string)     { p.t.Helper(); p.end(ids, proto.StateFail) }
func (p *play) stops(ids string)     { p.t.Helper(); p.end(ids, proto.StateStopped) }

func (p *play) end(ids string, state proto.State) {
	p.t.Helper()
	for _, id := range strings.Fields(ids) {
		p.apply(p.entry(id, state))
	}
}

// timesOut ends the try of a job as one that ran into the timeout of a sequence.
func (p *play) timesOut(id, sequence string) {
	p.t.Helper()
	if got := p.starts[id].TimedOut; got != sequence {
		p.t.Fatalf("the deadline of %s is that of sequence %q, want %q", id, got, sequence)
	}
	e := p.entry(id, proto.StateFail)
	e.TimedOut, e.Error = sequence, "timeout"
	p.apply(e)
}

// sets completes the running try of a job with data.
func (p *play) sets(id string, data proto.Values) {
	p.t.Helper()
	e := p.entry(id, proto.StateComplete)
	e.Data = data
	p.apply(e)
}

// wakes expects the second at which something that waits goes on; -1 is never.
func (p *play) wakes(want float64) {
	p.t.Helper()
	at, ok := p.c.Wake()
	if want < 0 && !ok {
		return
	}
	if !ok || !at.Equal(second(want)) {
		p.t.Fatalf("wakes at %v (%v), want %v", at.Sub(second(0)), ok, want)
	}
}

// done expects the final state; StateUnknown is not done.
func (p *play) done(want proto.State) {
	p.t.Helper()
	state, ok := p.c.Done()
	if state != want || ok != (want != proto.StateUnknown) {
		p.t.Fatalf("done: %s %v, want %s", state, ok, want)
	}
}

// is expects the states of jobs: "a COMPLETE b PENDING".
func (p *play) is(want string) {
	p.t.Helper()
	jobs := p.c.JobChain().Jobs
	for pair := range slices.Chunk(strings.Fields(want), 2) {
		if got := jobs[pair[0]].State.String(); got != pair[1] {
			p.t.Fatalf("%s is %s, want %s", pair[0], got, pair[1])
		}
	}
}

// tries expects the counts of a job: all that ended, and in this run.
func (p *play) tries(id string, total, latest uint) {
	p.t.Helper()
	sjc := p.c.Suspended()
	if sjc.TotalJobTries[id] != total || sjc.LatestRunJobTries[id] != latest {
		p.t.Fatalf("%s has %d tries, %d in this run; want %d and %d", id, sjc.TotalJobTries[id], sjc.LatestRunJobTries[id], total, latest)
	}
}

// handOver gives the chain to another runner, which must be idle, and checks that
// the log alone leads to the same.
func (p *play) handOver() {
	p.t.Helper()
	sjc := p.c.Suspended()
	if diff := gocmp.Diff(p.replayed().Suspended(), sjc); diff != "" {
		p.t.Fatalf("the log gives another state than the live chain (-log +live):\n%s", diff)
	}
	p.resume(sjc)
}

// crash loses the runner: what runs is lost.
func (p *play) crash() {
	p.t.Helper()
	p.resume(p.replayed().Suspended())
}

// replayed returns the chain that the log alone gives.
func (p *play) replayed() *Chain {
	p.t.Helper()
	c, err := New(p.jc)
	if err != nil {
		p.t.Fatal(err)
	}
	for i := range p.log {
		if err := c.Apply(&p.log[i]); err != nil {
			p.t.Fatal(err)
		}
	}
	return c
}

func (p *play) resume(sjc *proto.SuspendedJobChain) {
	p.t.Helper()
	c, err := Resume(roundTrip(p.t, sjc))
	if err != nil {
		p.t.Fatal(err)
	}
	p.c = c
}
