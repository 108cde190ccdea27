package chain

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/treadle-run/treadle/proto"
)

// model is the oracle of the simulation: the rules of a chain again, by id and by
// looking at everything each time. It is live: it knows what runs. It must not
// use anything of Chain but the arithmetic of waits, which has a test of its own.
type model struct {
	jc   *proto.JobChain
	prev map[string][]string // sorted
	rank map[string]int      // place in the topological order, ties by id

	state         map[string]proto.State
	own           map[string]proto.Values
	total, latest map[string]uint
	tries, runs   map[string]uint // of sequences
	timedOut      map[string]bool
	jobWait       map[string]int64
	seqWait       map[string]int64
	started       map[string]int64 // of sequences, by what was started
	logged        map[string]int64 // of sequences, by what ended
	failures      map[string]proto.JobFailure
	entries       uint64

	running map[string]string          // job -> sequence that waits for its old run, or ""
	room    map[string]map[string]bool // group -> its members that have room
}

func newModel(jc *proto.JobChain) *model {
	m := &model{
		jc: jc, prev: map[string][]string{}, rank: map[string]int{},
		state: map[string]proto.State{}, own: map[string]proto.Values{},
		total: map[string]uint{}, latest: map[string]uint{}, tries: map[string]uint{}, runs: map[string]uint{},
		timedOut: map[string]bool{}, jobWait: map[string]int64{}, seqWait: map[string]int64{},
		started: map[string]int64{}, logged: map[string]int64{}, failures: map[string]proto.JobFailure{},
		running: map[string]string{}, room: map[string]map[string]bool{},
	}
	for id := range jc.Jobs {
		m.state[id] = proto.StatePending
	}
	for id, next := range jc.AdjacencyList {
		for _, n := range next {
			m.prev[n] = append(m.prev[n], id)
		}
	}
	for _, prev := range m.prev {
		slices.Sort(prev)
	}
	for len(m.rank) < len(jc.Jobs) {
		m.rank[slices.Min(slices.Collect(m.free()))] = len(m.rank)
	}
	for g := range jc.Parallel {
		m.room[g] = map[string]bool{}
	}
	m.joints()
	return m
}

// free yields the jobs without a rank all of whose previous jobs have one.
func (m *model) free() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for id := range m.jc.Jobs {
			_, done := m.rank[id]
			for _, p := range m.prev[id] {
				if _, ok := m.rank[p]; !ok {
					done = true
				}
			}
			if !done && !yield(id) {
				return
			}
		}
	}
}

func (m *model) ordered() []string {
	ids := slices.Collect(maps.Keys(m.jc.Jobs))
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(m.rank[a], m.rank[b]) })
	return ids
}

func (m *model) prevsComplete(id string) bool {
	for _, p := range m.prev[id] {
		if m.state[p] != proto.StateComplete {
			return false
		}
	}
	return true
}

// joints gives structural jobs their state: it follows from that of the others.
func (m *model) joints() {
	for _, id := range m.ordered() {
		if m.jc.Jobs[id].Structural {
			m.state[id] = proto.StatePending
			if m.prevsComplete(id) {
				m.state[id] = proto.StateComplete
			}
		}
	}
}

// around returns the sequences around a job, innermost first.
func (m *model) around(id string) []string {
	return m.outwards(m.jc.Jobs[id].SequenceID)
}

func (m *model) outwards(q string) []string {
	var out []string
	for ; q != ""; q = m.jc.Sequences[q].Parent {
		out = append(out, q)
	}
	return out
}

func (m *model) in(id, q string) bool { return slices.Contains(m.around(id), q) }

func (m *model) run(id string) (n uint) {
	for _, q := range m.around(id) {
		n += m.runs[q]
	}
	return n
}

// candidate reports whether a job is ready or waits for something but jobs.
func (m *model) candidate(id string) bool {
	if m.jc.Jobs[id].Structural || m.state[id] == proto.StateComplete || m.state[id] == proto.StateFail {
		return false
	}
	if waiter, runs := m.running[id]; runs && waiter == "" {
		return false
	}
	for _, q := range m.around(id) {
		if m.timedOut[q] {
			return false
		}
	}
	return m.prevsComplete(id)
}

// held reports whether an old run keeps the job from starting.
func (m *model) held(id string) bool {
	for _, waiter := range m.running {
		if waiter != "" && m.in(id, waiter) {
			return true
		}
	}
	return false
}

func (m *model) deadline(id string) (int64, string) {
	at, by := int64(math.MaxInt64), ""
	for _, q := range m.around(id) {
		if s := m.jc.Sequences[q]; s.Timeout > 0 && m.started[q] > 0 && m.started[q]+int64(s.Timeout) <= at {
			at, by = m.started[q]+int64(s.Timeout), q
		}
	}
	return at, by
}

// wake returns until when a candidate waits; 0 if it does not.
func (m *model) wake(id string) int64 {
	at := m.jobWait[id]
	for _, q := range m.around(id) {
		at = max(at, m.seqWait[q])
	}
	if at == 0 {
		return 0
	}
	deadline, _ := m.deadline(id)
	return min(at, deadline)
}

// memberships returns the groups that a job is in, by itself and by the sequences
// around it, with the member that it is part of.
func (m *model) memberships(id string) map[string]string {
	out := map[string]string{}
	if g := m.jc.Jobs[id].Group; g != "" {
		out[g] = "job " + id
	}
	for _, q := range m.around(id) {
		if g := m.jc.Sequences[q].Group; g != "" {
			out[g] = "sequence " + q
		}
	}
	return out
}

// full reports whether a group around the job has no room for it.
func (m *model) full(id string) bool {
	for g, member := range m.memberships(id) {
		if !m.room[g][member] && uint(len(m.room[g])) >= m.jc.Parallel[g] {
			return true
		}
	}
	return false
}

// active returns the members in which something runs, is ready or waits.
func (m *model) active() map[string]bool {
	active := map[string]bool{}
	for id := range m.jc.Jobs {
		_, runs := m.running[id]
		if runs || m.candidate(id) {
			for _, member := range m.memberships(id) {
				active[member] = true
			}
		}
	}
	return active
}

// leave takes the room of members that have ended.
func (m *model) leave() {
	active := m.active()
	for _, members := range m.room {
		maps.DeleteFunc(members, func(member string, _ bool) bool { return !active[member] })
	}
}

// start checks that a job may start and marks it.
func (m *model) start(t rapid.TB, s Start, now time.Time) {
	id, nano := s.Job.ID, now.UnixNano()
	switch _, runs := m.running[id]; {
	case runs:
		t.Fatalf("%s starts while it runs", id)
	case !m.candidate(id):
		t.Fatalf("%s starts, but is %s or what is before it is not COMPLETE", id, m.state[id])
	case m.held(id):
		t.Fatalf("%s starts while jobs of an earlier run of a sequence around it run", id)
	case m.wake(id) > nano:
		t.Fatalf("%s starts before its wait is over", id)
	case s.Try != m.total[id]+1:
		t.Fatalf("%s starts try %d after %d tries", id, s.Try, m.total[id])
	case s.Run != m.run(id):
		t.Fatalf("%s starts in run %d, want %d", id, s.Run, m.run(id))
	}
	want, got := m.sees(id), s.Data
	if len(want)+len(got) > 0 && !gocmp.Equal(want, got) {
		t.Fatalf("%s sees other data:\n%s", id, gocmp.Diff(want, got))
	}
	for _, q := range m.around(id) {
		if m.jc.Sequences[q].Timeout > 0 && m.started[q] == 0 {
			m.started[q] = nano
		}
	}
	deadline, by := m.deadline(id)
	if own := int64(s.Job.Timeout); own > 0 && nano+own < deadline {
		deadline, by = nano+own, ""
	}
	if by != s.TimedOut || deadline == math.MaxInt64 != s.Deadline.IsZero() ||
		!s.Deadline.IsZero() && s.Deadline.UnixNano() != deadline {
		t.Fatalf("%s has the deadline %v of %q, want %v of %q", id, s.Deadline, s.TimedOut, time.Unix(0, deadline), by)
	}
	m.running[id] = ""
	for g, member := range m.memberships(id) {
		m.room[g][member] = true
		if uint(len(m.room[g])) > m.jc.Parallel[g] {
			t.Fatalf("%s starts, then %d members of group %s run: %v", id, len(m.room[g]), g, m.room[g])
		}
	}
}

// sees returns the data for a job.
func (m *model) sees(id string) proto.Values {
	out := proto.Values{}
	for _, p := range m.prev[id] {
		if m.state[p] == proto.StateComplete {
			maps.Copy(out, m.sees(p))
			maps.Copy(out, m.own[p])
		}
	}
	return out
}

// apply takes an entry.
func (m *model) apply(e *proto.JobLog) {
	id := e.JobID
	m.entries++
	m.total[id]++
	waiter := m.running[id]
	delete(m.running, id)
	if waiter != "" {
		m.note(waiter, e.StartedAt)
		m.seqWait[waiter] = max(m.seqWait[waiter], until(e.FinishedAt, m.sequenceWait(waiter)))
		m.leave()
		return
	}
	m.note(m.jc.Jobs[id].SequenceID, e.StartedAt)
	for _, q := range m.around(id) {
		m.seqWait[q] = 0
	}
	m.jobWait[id] = 0
	switch e.State {
	case proto.StateStopped:
		m.state[id] = proto.StateStopped
	case proto.StateComplete:
		m.latest[id]++
		m.state[id] = proto.StateComplete
		m.own[id] = e.Data
		delete(m.failures, id)
	default:
		m.latest[id]++
		m.fail(e)
	}
	m.joints()
	m.leave()
}

func (m *model) note(q string, at int64) {
	for _, q := range m.outwards(q) {
		if m.jc.Sequences[q].Timeout > 0 && (m.logged[q] == 0 || at < m.logged[q]) {
			m.logged[q] = at
		}
	}
}

func (m *model) sequenceWait(q string) int64 {
	s := m.jc.Sequences[q]
	return backoff{int64(s.RetryWait), int64(s.RetryWaitMax), s.RetryBackoff,
		hash(m.jc.RequestID, q, uint64(m.runs[q]))}.after(uint32(m.tries[q]))
}

func (m *model) restart(q string) {
	for id, job := range m.jc.Jobs {
		if !m.in(id, q) {
			continue
		}
		m.state[id], m.own[id], m.latest[id], m.jobWait[id] = proto.StatePending, nil, 0, 0
		if _, runs := m.running[id]; runs {
			m.running[id] = q
		}
		if job.Group != "" {
			clear(m.room[job.Group])
		}
	}
	for i, s := range m.jc.Sequences {
		if i == q || !slices.Contains(m.outwards(i), q) {
			continue
		}
		m.tries[i], m.started[i], m.logged[i], m.seqWait[i], m.timedOut[i] = 0, 0, 0, 0, false
		if s.Group != "" {
			clear(m.room[s.Group])
		}
	}
	m.tries[q]++
	m.runs[q]++
}

// handOver is what a hand-over to another runner does: what runs is lost, what
// is known is what the log says, and what had started keeps its room.
func (m *model) handOver() {
	clear(m.running)
	m.started = maps.Clone(m.logged)
	started := map[string]bool{}
	for id, job := range m.jc.Jobs {
		if !job.Structural && (m.state[id] != proto.StatePending || m.latest[id] > 0) {
			for _, member := range m.memberships(id) {
				started[member] = true
			}
		}
	}
	for q := range m.jc.Sequences {
		for _, o := range m.outwards(q) {
			if m.tries[q] > 0 {
				started["sequence "+o] = true
			}
		}
	}
	for _, g := range m.room {
		clear(g)
	}
	active := m.active()
	for _, id := range m.ordered() {
		for g, member := range m.memberships(id) {
			if started[member] && active[member] && uint(len(m.room[g])) < m.jc.Parallel[g] {
				m.room[g][member] = true
			}
		}
	}
}

// done returns the state of a chain that was not stopped.
func (m *model) done() (proto.State, bool) {
	if len(m.running) > 0 {
		return proto.StateUnknown, false
	}
	state := proto.StateComplete
	for id := range m.jc.Jobs {
		if m.candidate(id) {
			return proto.StateUnknown, false
		}
		if m.state[id] != proto.StateComplete {
			state = proto.StateFail
		}
	}
	return state, true
}

func (m *model) finished() (n uint) {
	for id, job := range m.jc.Jobs {
		if !job.Structural && m.state[id] == proto.StateComplete {
			n++
		}
	}
	return n
}

// suspended is what Chain.Suspended must be.
func (m *model) suspended() *proto.SuspendedJobChain {
	jc := *m.jc
	jc.Jobs = map[string]*proto.Job{}
	jc.State = proto.StateSuspended
	jc.FinishedJobs = m.finished()
	for id, job := range m.jc.Jobs {
		j := *job
		j.State, j.Data = m.state[id], m.own[id]
		jc.Jobs[id] = &j
	}
	return &proto.SuspendedJobChain{
		RequestID: jc.RequestID, JobChain: &jc, Entries: m.entries,
		TotalJobTries: set(m.total), LatestRunJobTries: set(m.latest),
		SequenceTries: set(m.tries), SequenceRuns: set(m.runs),
		SequenceStartedAt: set(m.started), SequenceTimedOut: set(m.timedOut),
		JobNotBefore: set(m.jobWait), SequenceNotBefore: set(m.seqWait),
		Failures: set(m.failures),
	}
}

// set returns the keys of m whose values are not zero.
func set[V comparable](m map[string]V) map[string]V {
	out := map[string]V{}
	var zero V
	for k, v := range m {
		if v != zero {
			out[k] = v
		}
	}
	return out
}
