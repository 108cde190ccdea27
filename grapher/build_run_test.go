package grapher

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/treadle-run/treadle/chain"
	"github.com/treadle-run/treadle/proto"
)

// chainRun runs a built chain to its end in virtual time.
type chainRun struct {
	jc      *proto.JobChain
	prev    map[string][]string
	flaky   map[string]bool // jobs that fail their first try
	running []chain.Start
	done    map[string]bool
}

// start notes jobs that start, and fails the test if one starts too early.
func (r *chainRun) start(t *rapid.T, starts []chain.Start) {
	for _, s := range starts {
		for _, p := range r.prev[s.Job.ID] {
			if !r.done[p] && !r.jc.Jobs[p].Structural {
				t.Fatalf("job %s started before %s was done", s.Job.ID, p)
			}
		}
		if r.done[s.Job.ID] {
			t.Fatalf("job %s started again after it was done", s.Job.ID)
		}
	}
	r.running = append(r.running, starts...)
	members := map[string]map[string]bool{} // by group
	note := func(group, member string) {
		if group != "" && members[group] == nil {
			members[group] = map[string]bool{}
		}
		if group != "" {
			members[group][member] = true
		}
	}
	for _, s := range r.running {
		note(s.Job.Group, s.Job.ID)
		for id := s.Job.SequenceID; id != ""; id = r.jc.Sequences[id].Parent {
			note(r.jc.Sequences[id].Group, id)
		}
	}
	for group, m := range members {
		if uint(len(m)) > r.jc.Parallel[group] {
			t.Fatalf("%d members of group %s run, want at most %d", len(m), group, r.jc.Parallel[group])
		}
	}
}

// end ends the try at place i of running, and returns its entry.
func (r *chainRun) end(i int, seq uint64, now time.Time) *proto.JobLog {
	s := r.running[i]
	r.running = append(r.running[:i], r.running[i+1:]...)
	e := &proto.JobLog{
		RequestID: r.jc.RequestID, JobID: s.Job.ID, Name: s.Job.Name, Type: s.Job.Type,
		Try: s.Try, Run: s.Run, Seq: seq, StartedAt: now.UnixNano(), FinishedAt: now.UnixNano(),
		State: proto.StateComplete,
	}
	if r.flaky[s.Job.ID] && s.Try == 1 {
		e.State = proto.StateFail
	} else {
		r.done[s.Job.ID] = true
	}
	return e
}

func TestAnyChainRunsToItsEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := drawSpecs(t)
		specs := newSpecs(d.sequences...)
		specs.limits.Jobs = 300
		jc, err := specs.Build(t.Context(), "req", "main", d.args, nil)
		if err != nil {
			t.Skip("too large")
		}
		r := &chainRun{jc: jc, prev: map[string][]string{}, flaky: map[string]bool{}, done: map[string]bool{}}
		tries := jc.TotalJobs()
		for id, j := range jc.Jobs {
			for _, next := range jc.AdjacencyList[id] {
				r.prev[next] = append(r.prev[next], id)
			}
			if !j.Structural && j.Retry > 0 {
				r.flaky[id] = true
				tries++
			}
		}
		c, err := chain.New(jc)
		if err != nil {
			t.Fatalf("the chain is not valid: %v", err)
		}
		now := time.Unix(1, 0)
		for {
			r.start(t, c.Next(now))
			if len(r.running) == 0 {
				break
			}
			e := r.end(rapid.IntRange(0, len(r.running)-1).Draw(t, "ends"), c.Entries(), now)
			if err := c.Apply(e); err != nil {
				t.Fatalf("Apply: %v", err)
			}
		}
		if state, ok := c.Done(); !ok || state != proto.StateComplete {
			t.Fatalf("the chain ended %s (%v), want COMPLETE", state, ok)
		}
		if c.Entries() != uint64(tries) || uint(len(r.done)) != jc.TotalJobs() {
			t.Fatalf("%d tries of %d jobs, want %d tries of %d jobs", c.Entries(), len(r.done), tries, jc.TotalJobs())
		}
	})
}
