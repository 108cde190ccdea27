package chain

import (
	"fmt"
	"slices"

	"github.com/treadle-run/treadle/proto"
)

// What the failure of a try leads to in the model.

func (m *model) fail(e *proto.JobLog) {
	id := e.JobID
	f := proto.JobFailure{Seq: e.Seq, Try: e.Try, Error: e.Error}
	if e.TimedOut != "" && e.StartedAt == e.FinishedAt {
		f.NotStarted, f.Error = true, fmt.Sprintf("the timeout of sequence %s passed before try %d of job %s (%s) started",
			e.TimedOut, e.Try, m.jc.Jobs[id].Name, id)
		if before := m.failureBefore(e); before != "" {
			f.Error = cut(before+"; then "+f.Error, 2*maxFailureText)
		}
	}
	m.failures[id] = f
	if e.TimedOut != "" {
		m.timedOut[e.TimedOut] = true
		for j := range m.jc.Jobs {
			if m.in(j, e.TimedOut) {
				m.jobWait[j] = 0
				if m.state[j] == proto.StateStopped {
					m.state[j] = proto.StatePending
				}
			}
		}
		for q := range m.jc.Sequences {
			if slices.Contains(m.outwards(q), e.TimedOut) {
				m.seqWait[q] = 0
			}
		}
	}
	around := m.around(id)
	for i := len(around) - 1; i >= 0; i-- {
		if m.timedOut[around[i]] {
			m.failSequence(e, around[i+1:])
			return
		}
	}
	job := m.jc.Jobs[id]
	if m.latest[id] < job.Retry+1 {
		m.state[id] = proto.StatePending
		m.jobWait[id] = until(e.FinishedAt, backoff{int64(job.RetryWait), int64(job.RetryWaitMax), job.RetryBackoff,
			hash(m.jc.RequestID, id, uint64(m.total[id]))}.after(uint32(m.latest[id])))
		return
	}
	m.failSequence(e, around)
}

// failureBefore is the last failure in the sequence that timed out; once it is known
// that it did, that of the job itself.
func (m *model) failureBefore(e *proto.JobLog) string {
	text, seq := "", uint64(0)
	for id, f := range m.failures {
		if f.Seq < seq || id != e.JobID && (m.timedOut[e.TimedOut] || !m.in(id, e.TimedOut)) {
			continue
		}
		seq, text = f.Seq, fmt.Sprintf("job %s (%s) failed in try %d: %s", m.jc.Jobs[id].Name, id, f.Try, f.Error)
		if f.NotStarted {
			text = f.Error
		}
	}
	return text
}

// failSequence starts the first of the sequences again that has tries left.
func (m *model) failSequence(e *proto.JobLog, qs []string) {
	for _, q := range qs {
		if m.tries[q] < m.jc.Sequences[q].Retry {
			m.restart(q)
			m.seqWait[q] = until(e.FinishedAt, m.sequenceWait(q))
			return
		}
	}
	m.state[e.JobID] = proto.StateFail
}
