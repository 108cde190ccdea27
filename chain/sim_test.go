package chain

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/treadle-run/treadle/proto"
)

// sim runs a chain in virtual time with a runner that does everything a runner
// may do, and holds it against the model at each step.
type sim struct {
	t       *rapid.T
	jc      *proto.JobChain
	c       *Chain
	m       *model
	now     time.Time
	running []Start
	ended   []proto.JobLog // tries that ended and are on their way to the database
	startAt map[string]int64
	log     []proto.JobLog
	stopped int // STOPPED tries left: they use up no try, so they need a bound
	faults  int // suspensions and kills left
}

// TestChainKeepsItsRules runs random chains with random results, stops,
// suspensions and kills in random order.
func TestChainKeepsItsRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Through JSON, as every runner gets it, so that what is empty is so in the
		// same way after a hand-over.
		jc := roundTrip(t, genChain(t))
		c, err := New(jc)
		if err != nil {
			t.Fatal(err)
		}
		s := &sim{t: t, jc: jc, c: c, m: newModel(jc), now: time.Unix(1_000_000, 0), startAt: map[string]int64{},
			stopped: rapid.IntRange(0, 6).Draw(t, "stopped"), faults: rapid.IntRange(0, 4).Draw(t, "faults")}
		stopAfter := rapid.IntRange(0, 200).Draw(t, "stopAfter")
		for step := 0; ; step++ {
			if step > 20_000 {
				t.Fatal("the chain does not end")
			}
			if step == stopAfter && stopAfter < 60 {
				s.stop()
				return
			}
			if s.step() {
				s.end()
				return
			}
		}
	})
}

// step does one thing, and reports whether the chain has ended.
func (s *sim) step() bool {
	state, done := s.c.Done()
	if want, ok := s.m.done(); state != want || done != ok {
		s.t.Fatalf("Done is %s %v, want %s %v", state, done, want, ok)
	}
	if done {
		return true
	}
	s.now = s.now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(s.t, "ms")) * time.Millisecond)
	switch rapid.IntRange(0, 11).Draw(s.t, "step") {
	case 0:
		if s.faults > 0 {
			s.faults--
			s.suspend()
		}
	case 1:
		if s.faults > 0 {
			s.faults--
			s.kill()
		}
	case 2, 3, 4:
		s.next()
	case 5, 6, 7, 8:
		s.endOne()
	default:
		s.applyOne()
	}
	if len(s.running) == 0 && len(s.ended) == 0 {
		s.next()
		s.sleep()
	}
	s.compare()
	return false
}

// next starts what may start, and checks that nothing is left that may.
func (s *sim) next() {
	starts := s.c.Next(s.now)
	for i, start := range starts {
		if i > 0 && s.m.rank[starts[i-1].Job.ID] > s.m.rank[start.Job.ID] {
			s.t.Fatalf("%s starts after %s", start.Job.ID, starts[i-1].Job.ID)
		}
		s.m.start(s.t, start, s.now)
		s.startAt[start.Job.ID] = s.now.UnixNano()
	}
	s.running = append(s.running, starts...)
	wake := int64(0)
	for id := range s.jc.Jobs {
		if _, runs := s.m.running[id]; runs || !s.m.candidate(id) || s.m.held(id) {
			continue
		}
		if at := s.m.wake(id); at > s.now.UnixNano() {
			if wake == 0 || at < wake {
				wake = at
			}
		} else if !s.m.full(id) {
			s.t.Fatalf("%s may start, but does not", id)
		}
	}
	at, waits := s.c.Wake()
	if waits != (wake > 0) || waits && at.UnixNano() != wake {
		s.t.Fatalf("Wake is %v %v, want %v", at, waits, time.Unix(0, wake))
	}
}

// sleep goes on to the time that Wake says, if nothing runs.
func (s *sim) sleep() {
	if len(s.running) > 0 {
		return
	}
	if at, ok := s.c.Wake(); ok && at.After(s.now) {
		s.now = at
	}
}

// endOne ends a try that runs; its entry is on its way then.
func (s *sim) endOne() {
	if len(s.running) == 0 {
		return
	}
	i := rapid.IntRange(0, len(s.running)-1).Draw(s.t, "which")
	start := s.running[i]
	s.running = slices.Delete(s.running, i, i+1)
	s.ended = append(s.ended, s.result(start))
}

func (s *sim) result(start Start) proto.JobLog {
	id := start.Job.ID
	e := proto.JobLog{RequestID: s.jc.RequestID, JobID: id, Try: start.Try, Run: start.Run, State: proto.StateComplete,
		StartedAt: s.startAt[id], FinishedAt: s.now.UnixNano()}
	late := !start.Deadline.IsZero() && !s.now.Before(start.Deadline)
	switch r := rapid.IntRange(0, 9).Draw(s.t, "result"); {
	case late && r > 0:
		e.State, e.TimedOut, e.Error = proto.StateFail, start.TimedOut, "timeout"
	case r < 5:
		if r > 0 {
			e.Data = proto.Values{"of " + id: int64(start.Try), "last": id, "kind": []any{nil, true, "s", int64(3), 3.0}[r]}
		}
	case r < 9:
		e.State, e.Error = proto.StateFail, "no luck"
	case s.stopped > 0:
		s.stopped--
		e.State = proto.StateStopped
	}
	return e
}

// applyOne makes the oldest entry that is on its way durable.
func (s *sim) applyOne() {
	if len(s.ended) == 0 {
		return
	}
	e := s.ended[0]
	s.ended = s.ended[1:]
	e.Seq = s.c.Entries()
	if err := s.c.Apply(&e); err != nil {
		s.t.Fatal(err)
	}
	s.log = append(s.log, e)
	s.m.apply(&e)
	s.compare()
}

// compare holds the state of the chain against the model.
func (s *sim) compare() {
	s.t.Helper()
	if diff := gocmp.Diff(s.m.suspended(), s.c.Suspended(), cmpopts.EquateEmpty()); diff != "" {
		s.t.Fatalf("the state is not that of the model (-want +got):\n%s", diff)
	}
	if got, want := s.c.FinishedJobs(), s.m.finished(); got != want {
		s.t.Fatalf("FinishedJobs is %d, want %d", got, want)
	}
	if got := s.c.Running(); len(got) != len(s.m.running) || !slices.IsSorted(got) {
		s.t.Fatalf("Running is %v, want %v", got, s.m.running)
	}
}

// replayed returns the chain that the log alone gives.
func (s *sim) replayed() *Chain {
	c, err := New(s.jc)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range s.log {
		if err := c.Apply(&s.log[i]); err != nil {
			s.t.Fatalf("replay: %v", err)
		}
	}
	return c
}

// drain ends all that runs.
func (s *sim) drain() {
	for len(s.running) > 0 {
		s.endOne()
	}
	for len(s.ended) > 0 {
		s.applyOne()
	}
}

// suspend hands the chain over to another runner.
func (s *sim) suspend() {
	s.c.Suspend()
	if n := len(s.c.Next(s.now)); n > 0 {
		s.t.Fatalf("%d jobs start after Suspend", n)
	}
	s.drain()
	state, done := s.c.Done()
	if want, ok := s.m.done(); state != want || done != ok {
		s.t.Fatalf("Done after Suspend is %s %v, want %s %v", state, done, want, ok)
	}
	sjc := s.c.Suspended()
	if diff := gocmp.Diff(s.replayed().Suspended(), sjc); diff != "" {
		s.t.Fatalf("the log gives another state than the live chain (-log +live):\n%s", diff)
	}
	s.resume(sjc)
}

// kill loses the runner with all that runs, and what is on its way.
func (s *sim) kill() {
	s.running, s.ended = nil, nil
	c := s.replayed()
	if len(s.jc.Parallel) == 0 && rapid.Bool().Draw(s.t, "goes on without a hand-over") {
		s.c = c
		s.m.handOver()
		s.compare()
		return
	}
	s.resume(c.Suspended())
}

func (s *sim) resume(sjc *proto.SuspendedJobChain) {
	if rapid.Bool().Draw(s.t, "json") {
		sjc = roundTrip(s.t, sjc)
	}
	c, err := Resume(sjc)
	if err != nil {
		s.t.Fatal(err)
	}
	s.c = c
	s.m.handOver()
	s.compare()
}

// roundTrip returns x as it arrives at another process.
func roundTrip[T any](t rapid.TB, x *T) *T {
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// stop stops the chain for good.
func (s *sim) stop() {
	s.c.Stop()
	s.c.Suspend() // too late
	if _, ok := s.c.Wake(); ok {
		s.t.Fatal("a stopped chain wants to go on")
	}
	for {
		if n := len(s.c.Next(s.now)); n > 0 {
			s.t.Fatalf("%d jobs start after Stop", n)
		}
		state, done := s.c.Done()
		if done != (len(s.c.Running()) == 0) || done && state != proto.StateStopped {
			s.t.Fatalf("Done after Stop is %s %v", state, done)
		}
		if done {
			return
		}
		s.endOne()
		s.applyOne()
	}
}

// end checks a chain that ended.
func (s *sim) end() {
	state, _ := s.c.Done()
	if (state == proto.StateComplete) != (s.c.FinishedJobs() == s.c.TotalJobs()) {
		s.t.Fatalf("%s with %d of %d jobs COMPLETE", state, s.c.FinishedJobs(), s.c.TotalJobs())
	}
	if (s.c.Reason() == "") != (state == proto.StateComplete) {
		s.t.Fatalf("%s with the reason %q", state, s.c.Reason())
	}
	if got := s.c.JobChain().State; got != state {
		s.t.Fatalf("JobChain is %s, want %s", got, state)
	}
	if diff := gocmp.Diff(s.replayed().Suspended(), s.c.Suspended()); diff != "" {
		s.t.Fatalf("the log gives another state than the live chain (-log +live):\n%s", diff)
	}
}

// genChain draws a job chain with anything a chain may have. Edges lead wherever
// they like, also out of the middle of a sequence, which no spec can say.
func genChain(t *rapid.T) *proto.JobChain {
	jc := &proto.JobChain{RequestID: "req", Jobs: map[string]*proto.Job{}, AdjacencyList: map[string][]string{},
		Sequences: map[string]*proto.Sequence{}, Parallel: map[string]uint{}}
	if rapid.Bool().Draw(t, "no groups") {
		jc.Parallel = nil
	}
	seqs := []string{""}
	for i := range rapid.IntRange(0, 5).Draw(t, "sequences") {
		id := fmt.Sprintf("s%d", i)
		jc.Sequences[id] = genSequence(t, id, rapid.SampledFrom(seqs).Draw(t, "parent"), jc.Parallel)
		seqs = append(seqs, id)
	}
	n := rapid.IntRange(0, 12).Draw(t, "jobs")
	ids := rapid.Permutation([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}).Draw(t, "ids")[:n]
	density := rapid.IntRange(0, 4).Draw(t, "density")
	for i, id := range ids {
		job := &proto.Job{ID: id, Name: "job " + id, State: proto.StatePending, SequenceID: rapid.SampledFrom(seqs).Draw(t, "sequence"),
			Structural: rapid.IntRange(0, 6).Draw(t, "structural") == 0}
		if !job.Structural {
			genTries(t, &job.Retry, &job.RetryWait, &job.RetryBackoff, &job.RetryWaitMax)
			job.Timeout = genTimeout(t)
			job.Group = genGroup(t, job.SequenceID, jc.Parallel)
		}
		jc.Jobs[id] = job
		for _, p := range ids[:i] {
			if rapid.IntRange(0, 9).Draw(t, "edge") < density {
				jc.AdjacencyList[p] = append(jc.AdjacencyList[p], id)
			}
		}
	}
	return jc
}

func genSequence(t *rapid.T, id, parent string, limits map[string]uint) *proto.Sequence {
	s := &proto.Sequence{Name: id, Parent: parent, Timeout: genTimeout(t), Group: genGroup(t, parent, limits)}
	genTries(t, &s.Retry, &s.RetryWait, &s.RetryBackoff, &s.RetryWaitMax)
	return s
}

func genTries(t *rapid.T, retry *uint, wait *proto.Duration, factor *float64, limit *proto.Duration) {
	*retry = rapid.UintRange(0, 2).Draw(t, "retry")
	if *retry == 0 {
		return
	}
	*wait = proto.Duration(rapid.SampledFrom([]time.Duration{0, time.Millisecond, 3 * time.Second, 20 * time.Second}).Draw(t, "wait"))
	if rapid.IntRange(0, 2).Draw(t, "backs off") == 0 {
		*factor = rapid.SampledFrom([]float64{1, 2, 10}).Draw(t, "factor")
		*limit = proto.Duration(rapid.SampledFrom([]time.Duration{0, 30 * time.Second}).Draw(t, "limit"))
	}
}

func genTimeout(t *rapid.T) proto.Duration {
	if rapid.IntRange(0, 3).Draw(t, "has timeout") > 0 {
		return 0
	}
	return proto.Duration(rapid.IntRange(1, 30).Draw(t, "timeout")) * proto.Duration(time.Second)
}

// genGroup draws the group of a member in a sequence; each has one at most.
func genGroup(t *rapid.T, parent string, limits map[string]uint) string {
	if limits == nil || rapid.Bool().Draw(t, "no group") {
		return ""
	}
	name := "g " + parent
	if limits[name] == 0 {
		limits[name] = rapid.UintRange(1, 2).Draw(t, "limit")
	}
	return name
}
