package proto

import (
	"strings"
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
