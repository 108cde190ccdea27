package proto

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// JobLog is the entry for one try of a job that ended. Entries are append-only
// and ordered by Seq; replaying them onto the job chain gives its state.
type JobLog struct {
	RequestID  string `json:"requestId"`
	JobID      string `json:"jobId"`
	Try        uint   `json:"try"` // 1, 2, ... over all tries of the job
	Name       string `json:"name"`
	Type       string `json:"type"`
	StartedAt  int64  `json:"startedAt"`  // Unix nanoseconds
	FinishedAt int64  `json:"finishedAt"` // Unix nanoseconds
	State      State  `json:"state"`      // COMPLETE, FAIL or STOPPED
	Exit       int64  `json:"exit"`       // exit code of a command
	Error      string `json:"error"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`

	// StdoutBytes and StderrBytes have the output byte for byte where it is not
	// UTF-8, which JSON strings cannot carry; Stdout and Stderr are then readable
	// renderings.
	StdoutBytes []byte `json:"stdoutBytes,omitempty"`
	StderrBytes []byte `json:"stderrBytes,omitempty"`

	// Seq is the place of the entry in the log of its request: 0, 1, 2, ...
	Seq uint64 `json:"seq"`
	// Run counts how often the sequences around the job had started again when
	// the try started. An entry of an earlier run than the chain's present one
	// belongs to a try that was still running when its sequence started again.
	Run uint `json:"run,omitempty"`
	// Data is what the job set in this try.
	Data Values `json:"data,omitempty"`
	// TimedOut is the id of the sequence whose timeout ended the try, if one did.
	TimedOut string `json:"timedOut,omitempty"`
	// Epoch is the hand-over under which the try ran.
	Epoch uint64 `json:"epoch,omitempty"`
}

// Limits of what identifies the entries of a job log, in bytes. The columns of the
// database are as wide.
const (
	maxLogID   = 64
	maxLogName = 255
)

// Check returns what is wrong with an entry for the log of a request, nil if nothing is:
// no database can hold what it refuses.
func (e *JobLog) Check(requestID string) error {
	switch {
	case e.RequestID != "" && e.RequestID != requestID:
		return fmt.Errorf("entry %d is of another request, %s", e.Seq, Excerpt(e.RequestID))
	case e.JobID == "" || !isLogID(e.JobID):
		return fmt.Errorf("entry %d: %q is not a job id of at most %d characters", e.Seq, Excerpt(e.JobID), maxLogID)
	case len(e.Name) > maxLogName || len(e.Type) > maxLogName:
		return fmt.Errorf("entry %d: the name or type of job %s is longer than %d bytes", e.Seq, e.JobID, maxLogName)
	case !isLogID(e.TimedOut):
		return fmt.Errorf("entry %d: %q is not a sequence id of at most %d characters", e.Seq, Excerpt(e.TimedOut), maxLogID)
	case !e.State.Final():
		return fmt.Errorf("entry %d: a try cannot end in state %s", e.Seq, e.State)
	case e.Seq > math.MaxInt64 || uint64(e.Try) > math.MaxUint32 || uint64(e.Run) > math.MaxUint32:
		return fmt.Errorf("entry %d: seq, try or run of job %s is out of range", e.Seq, e.JobID)
	}
	return nil
}

// isLogID reports whether the id of a job or a sequence is printable ASCII and short
// enough; "" is.
func isLogID(id string) bool {
	return len(id) <= maxLogID && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII || r == 0x7f })
}

// SetOutput sets Stdout and Stderr, and their exact bytes where they are not
// UTF-8.
func (e *JobLog) SetOutput(stdout, stderr []byte) {
	e.Stdout, e.StdoutBytes = splitOutput(stdout)
	e.Stderr, e.StderrBytes = splitOutput(stderr)
}

func splitOutput(b []byte) (string, []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), b
}

// Output returns stdout and stderr byte for byte.
func (e *JobLog) Output() (stdout, stderr []byte) {
	return joinOutput(e.Stdout, e.StdoutBytes), joinOutput(e.Stderr, e.StderrBytes)
}

func joinOutput(text string, exact []byte) []byte {
	if exact != nil {
		return exact
	}
	return []byte(text)
}
