package chain

import (
	"fmt"
	"strings"

	"github.com/treadle-run/treadle/proto"
)

// maxFailureText bounds what is kept of the error of a failed job, in bytes. The
// whole error is in the job log.
const maxFailureText = 500

// noteFailure keeps how a job failed. It comes before the sequence that timed out is
// marked.
func (c *Chain) noteFailure(j int32, e *proto.JobLog) {
	f := newFailure(e)
	if neverRan(e) {
		f.NotStarted = true
		f.Error = fmt.Sprintf("the timeout of sequence %s passed before try %d of job %s (%s) started",
			c.SequenceName(e.TimedOut), e.Try, c.jobs[j].Name, e.JobID)
		if before := c.failureBefore(j, e); before != "" {
			f.Error = cut(before+"; then "+f.Error, 2*maxFailureText)
		}
	}
	c.failures[j] = f
}

// neverRan reports whether an entry is of a try that waited until the timeout of a
// sequence had passed. Such an entry is needed, for it is what ends the sequence.
func neverRan(e *proto.JobLog) bool { return e.TimedOut != "" && e.FinishedAt <= e.StartedAt }

// failureBefore says why a try that never ran had to wait: what failed last in the
// sequence that timed out. Of several such tries only the first one looks at more than
// its own job: the reason of the chain is that of its first failure.
func (c *Chain) failureBefore(j int32, e *proto.JobLog) string {
	last, found := c.failures[j], j
	if q := c.enclosing(j, e.TimedOut); !c.seqs[q].timedOut {
		for i, f := range c.failures {
			if c.around(q, i) && (last == proto.JobFailure{} || f.Seq > last.Seq) {
				last, found = f, i
			}
		}
	}
	if last == (proto.JobFailure{}) {
		return ""
	}
	return c.failureText(found, last)
}

func (c *Chain) failureText(j int32, f proto.JobFailure) string {
	if f.NotStarted {
		return f.Error
	}
	text := fmt.Sprintf("job %s (%s) failed in try %d", c.jobs[j].Name, c.jobs[j].ID, f.Try)
	if f.Error != "" {
		text += ": " + f.Error
	}
	return text
}

func newFailure(e *proto.JobLog) proto.JobFailure {
	return proto.JobFailure{Seq: e.Seq, Try: e.Try, Error: cut(e.Error, maxFailureText)}
}

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

// Reason says why the chain ended as it did, for the user: which job failed first
// and how, and how many more did; or that it was stopped. It is "" for a
// chain that is COMPLETE or has not ended.
func (c *Chain) Reason() string {
	state, done := c.Done()
	switch {
	case !done || state == proto.StateComplete:
		return ""
	case state == proto.StateStopped:
		return "stopped by request"
	}
	first, failed := none, 0
	for j, f := range c.failures {
		if c.state[j].state != proto.StateFail {
			continue
		}
		failed++
		if first == none || f.Seq < c.failures[first].Seq {
			first = j
		}
	}
	if first == none {
		return "not every job completed"
	}
	text := c.failureText(first, c.failures[first])
	if more := failed - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more failed)", more)
	}
	return text
}

// SequenceName returns the name of a sequence of the chain, or its id if there
// is none.
func (c *Chain) SequenceName(id string) string {
	if s := c.jc.Sequences[id]; s != nil && s.Name != "" {
		return s.Name
	}
	return id
}
