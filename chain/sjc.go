package chain

import (
	"cmp"
	"math"

	"github.com/treadle-run/treadle/proto"
)

// Resume returns the chain that a suspended job chain goes on with. The error is
// a proto.Error that says what is wrong with sjc.
func Resume(sjc *proto.SuspendedJobChain) (*Chain, error) {
	if sjc == nil {
		return nil, proto.Errorf(proto.CodeInvalid, "there is no suspended job chain")
	}
	c, number, err := build(sjc.JobChain)
	if err != nil {
		return nil, err
	}
	if sjc.RequestID != c.jc.RequestID {
		return nil, invalid(c.jc, "the suspended job chain of request %q has the job chain of request %q", sjc.RequestID, c.jc.RequestID)
	}
	c.entries = sjc.Entries
	if err := c.loadJobs(sjc); err != nil {
		return nil, err
	}
	if err := c.loadSequences(sjc, number); err != nil {
		return nil, err
	}
	c.initialize()
	c.enterStarted()
	return c, nil
}

func (c *Chain) loadJobs(sjc *proto.SuspendedJobChain) error {
	for j, job := range c.jobs {
		s := &c.state[j]
		switch job.State {
		case proto.StateComplete:
			s.state = proto.StateComplete
			if len(job.Data) > 0 {
				s.own = job.Data
			}
			if !job.Structural {
				c.finished++
			}
		case proto.StateFail, proto.StateStopped:
			s.state = job.State
		case proto.StatePending, proto.StateRunning:
		default:
			return invalid(c.jc, "job %q cannot be %s", job.ID, job.State)
		}
	}
	at := func(field, id string) (*jobState, error) {
		j, ok := c.find(id)
		if !ok {
			return nil, invalid(c.jc, "%s has job %q, which is not in the chain", field, id)
		}
		return &c.state[j], nil
	}
	for id, n := range sjc.TotalJobTries {
		s, err := at("totalJobTries", id)
		if err != nil {
			return err
		}
		s.tries = count32(n)
	}
	for id, n := range sjc.LatestRunJobTries {
		s, err := at("latestRunJobTries", id)
		if err != nil {
			return err
		}
		s.latest = count32(n)
	}
	for id, t := range sjc.JobNotBefore {
		s, err := at("jobNotBefore", id)
		if err != nil {
			return err
		}
		s.notBefore = t
	}
	for id, f := range sjc.Failures {
		j, ok := c.find(id)
		if !ok {
			return invalid(c.jc, "failures has job %q, which is not in the chain", id)
		}
		c.failures[j] = f
	}
	return nil
}

func (c *Chain) loadSequences(sjc *proto.SuspendedJobChain, number map[string]int32) error {
	return cmp.Or(
		load(c, number, "sequenceTries", sjc.SequenceTries, func(s *sequence, n uint) { s.tries = count32(n) }),
		load(c, number, "sequenceRuns", sjc.SequenceRuns, func(s *sequence, n uint) { s.runs = count32(n) }),
		load(c, number, "sequenceStartedAt", sjc.SequenceStartedAt, func(s *sequence, t int64) { s.startedAt = t }),
		load(c, number, "sequenceNotBefore", sjc.SequenceNotBefore, func(s *sequence, t int64) { s.notBefore = t }),
		load(c, number, "sequenceTimedOut", sjc.SequenceTimedOut, func(s *sequence, on bool) { s.timedOut = on }),
	)
}

func load[V any](c *Chain, number map[string]int32, field string, values map[string]V, set func(*sequence, V)) error {
	for id, v := range values {
		q, ok := number[id]
		if !ok {
			return invalid(c.jc, "%s has sequence %q, which is not in the chain", field, id)
		}
		set(&c.seqs[q], v)
	}
	return nil
}

func count32(n uint) uint32 { return uint32(min(n, math.MaxUint32)) }

// Suspended returns all that is needed to go on with the chain elsewhere. It
// shares what never changes with the chain. It means something only when the
// chain is idle: jobs that run are PENDING in it.
//
// It is the same as that of New and Apply of all entries so far.
func (c *Chain) Suspended() *proto.SuspendedJobChain {
	sjc := &proto.SuspendedJobChain{
		RequestID:         c.jc.RequestID,
		JobChain:          c.snapshot(proto.StateSuspended, false),
		TotalJobTries:     map[string]uint{},
		LatestRunJobTries: map[string]uint{},
		SequenceTries:     map[string]uint{},
		Entries:           c.entries,
	}
	for j := range c.state {
		s, id := &c.state[j], c.jobs[j].ID
		put(&sjc.TotalJobTries, id, uint(s.tries))
		put(&sjc.LatestRunJobTries, id, uint(s.latest))
		put(&sjc.JobNotBefore, id, s.notBefore)
		if f, ok := c.failures[int32(j)]; ok {
			put(&sjc.Failures, id, f)
		}
	}
	for q := range c.seqs {
		s := &c.seqs[q]
		put(&sjc.SequenceTries, s.id, uint(s.tries))
		put(&sjc.SequenceRuns, s.id, uint(s.runs))
		put(&sjc.SequenceStartedAt, s.id, s.startedAt)
		put(&sjc.SequenceTimedOut, s.id, s.timedOut)
		put(&sjc.SequenceNotBefore, s.id, s.notBefore)
	}
	return sjc
}

// put sets a key unless the value is zero.
func put[V comparable](m *map[string]V, id string, v V) {
	var zero V
	if v == zero {
		return
	}
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[id] = v
}

// JobChain returns the job chain as it is now: states, data and counts.
func (c *Chain) JobChain() *proto.JobChain {
	state, done := c.Done()
	switch {
	case done:
	case c.entries == 0 && len(c.running) == 0:
		state = proto.StatePending
	default:
		state = proto.StateRunning
	}
	return c.snapshot(state, true)
}

// snapshot returns a copy of the job chain with the states of its jobs. Jobs that
// are as they were given are shared, not copied.
func (c *Chain) snapshot(state proto.State, running bool) *proto.JobChain {
	jc := *c.jc
	jc.State = state
	jc.FinishedJobs = c.finished
	jc.Jobs = make(map[string]*proto.Job, len(c.jobs))
	empty := proto.Values{} // never nil: it must be the same whichever way a job came here
	for j, job := range c.jobs {
		s := &c.state[j]
		now := s.state
		if _, runs := c.running[int32(j)]; runs && running {
			now = proto.StateRunning
		}
		if job.State != now || len(s.own) > 0 || len(job.Data) > 0 || job.Data == nil {
			copied := *job
			copied.State = now
			if copied.Data = s.own; copied.Data == nil {
				copied.Data = empty
			}
			job = &copied
		}
		jc.Jobs[job.ID] = job
	}
	return &jc
}
