package chain

import (
	"fmt"
	"strings"

	"github.com/treadle-run/treadle/proto"
)

// maxFailureText bounds what is kept of the error of a failed job, in bytes. The
// whole error is in the job log.
const maxFailureText = 500

func newFailure(e *proto.JobLog) proto.JobFailure {
	text := e.Error
	if len(text) > maxFailureText {
		text = strings.ToValidUTF8(text[:maxFailureText], "") + "..."
	}
	return proto.JobFailure{Seq: e.Seq, Try: e.Try, Error: text}
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
	first := none
	for j, f := range c.failures {
		if first == none || f.Seq < c.failures[first].Seq {
			first = j
		}
	}
	if first == none {
		return "not every job completed"
	}
	f := c.failures[first]
	job := c.jobs[first]
	text := fmt.Sprintf("job %s (%s) failed in try %d", job.Name, job.ID, f.Try)
	if f.Error != "" {
		text += ": " + f.Error
	}
	if more := len(c.failures) - 1; more > 0 {
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
