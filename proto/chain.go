package proto

import "maps"

// JobChain is the directed acyclic graph of all jobs of one request. It is fixed
// when the request is created. States, data and counts in it are those of a
// moment; the job log is what they are computed from.
type JobChain struct {
	RequestID string `json:"requestId"`
	// Jobs has every job, by id.
	Jobs map[string]*Job `json:"jobs"`
	// AdjacencyList has the ids of the next jobs of each job that has some.
	AdjacencyList map[string][]string `json:"adjacencyList"`
	State         State               `json:"state"`
	// FinishedJobs counts jobs that are COMPLETE, structural ones aside.
	FinishedJobs uint `json:"finishedJobs"`

	// Sequences has every sequence of the chain by its id: the id of its first
	// job, or a name of its own if all its nodes are sequences.
	Sequences map[string]*Sequence `json:"sequences,omitempty"`
	// Parallel has the limit of each `parallel` group: how many of its members
	// (jobs and sequences that name it as their group) may run at any time.
	Parallel map[string]uint `json:"parallel,omitempty"`
	// Secrets has the values of secret args, so that they can be masked in
	// everything that leaves the chain. It never goes to a user.
	Secrets []string `json:"secrets,omitempty"`
}

// Job is one vertex of a job chain: a unit of work, or, if Structural, a joint
// that only saves edges.
type Job struct {
	ID   string `json:"id"`   // unique in the request, URL-safe, at most 32 bytes
	Name string `json:"name"` // of the node in the spec
	Type string `json:"type"`
	// Bytes is what the job type needs to make the job anew on a runner.
	Bytes []byte `json:"bytes,omitempty"`
	State State  `json:"state"`
	// Args is what the spec gave the job.
	Args Values `json:"args"`
	// Sets is what the job set when it was created: args that it added or changed.
	Sets Values `json:"sets,omitempty"`
	// Data is what the job set when it ran; descendants see it with what the jobs
	// before it set.
	Data      Values   `json:"data"`
	Retry     uint     `json:"retry"` // more tries after the first
	RetryWait Duration `json:"retryWait"`
	// SequenceID is the id of the sequence that the job belongs to.
	SequenceID string `json:"sequenceId"`
	// SequenceRetry and SequenceRetryWait repeat what the sequence says, on its
	// first job only.
	SequenceRetry     uint     `json:"sequenceRetry,omitempty"`
	SequenceRetryWait Duration `json:"sequenceRetryWait,omitzero"`

	// Structural marks a joint: it runs in no time, is not logged and not counted.
	Structural bool `json:"structural,omitempty"`
	// RetryBackoff, if not 0, multiplies the wait after each try, up to RetryWaitMax
	// if that is not 0.
	RetryBackoff float64  `json:"retryBackoff,omitempty"`
	RetryWaitMax Duration `json:"retryWaitMax,omitzero"`
	// Timeout bounds one try.
	Timeout Duration `json:"timeout,omitzero"`
	// NotIdempotent jobs never run a second time because their runner was lost.
	NotIdempotent bool `json:"notIdempotent,omitempty"`
	// Group is the parallel group that the job is a member of, if any.
	Group string `json:"group,omitempty"`
}

// CreatedArgs returns what the job was created with: its args and what it set over
// them. They must not be changed.
func (j *Job) CreatedArgs() Values {
	if len(j.Sets) == 0 {
		return j.Args
	}
	all := maps.Clone(j.Args)
	if all == nil {
		all = Values{}
	}
	maps.Copy(all, j.Sets)
	return all
}

// Sequence is a sequence in a job chain.
type Sequence struct {
	Name string `json:"name"` // of the sequence in the spec
	// Parent is the id of the sequence around it; "" for that of the request.
	Parent       string   `json:"parent,omitempty"`
	Retry        uint     `json:"retry,omitempty"` // more tries after the first
	RetryWait    Duration `json:"retryWait,omitzero"`
	RetryBackoff float64  `json:"retryBackoff,omitempty"`
	RetryWaitMax Duration `json:"retryWaitMax,omitzero"`
	// Timeout bounds the whole sequence, all its tries, from the start of its first
	// job.
	Timeout Duration `json:"timeout,omitzero"`
	// Group is the parallel group that the sequence is a member of, if any.
	Group string `json:"group,omitempty"`
}

// TotalJobs counts the jobs that are the user's, that is not structural.
func (c *JobChain) TotalJobs() uint {
	var n uint
	for _, j := range c.Jobs {
		if !j.Structural {
			n++
		}
	}
	return n
}

// SuspendedJobChain is all that is needed to go on with a chain on another
// runner. The states of jobs are in JobChain.
type SuspendedJobChain struct {
	RequestID string    `json:"requestId"`
	JobChain  *JobChain `json:"jobChain"`
	// TotalJobTries counts the tries of each job that ended, ever; jobs without
	// one are left out, here and below.
	TotalJobTries map[string]uint `json:"totalJobTries"`
	// LatestRunJobTries counts the tries of each job that used up one of its own,
	// in the current try of its sequence.
	LatestRunJobTries map[string]uint `json:"latestRunJobTries"`
	// SequenceTries counts the tries of each sequence after its first, by its id.
	SequenceTries map[string]uint `json:"sequenceTries"`

	// SequenceRuns counts how often each sequence started again, ever. Unlike
	// SequenceTries it is not reset when the sequence around it starts again.
	SequenceRuns map[string]uint `json:"sequenceRuns,omitempty"`
	// SequenceStartedAt says when the first job of each sequence that has a timeout
	// started (Unix nanoseconds).
	SequenceStartedAt map[string]int64 `json:"sequenceStartedAt,omitempty"`
	// SequenceTimedOut has the sequences that failed for good by their timeout.
	SequenceTimedOut map[string]bool `json:"sequenceTimedOut,omitempty"`
	// JobNotBefore and SequenceNotBefore say until when a retry waits (Unix
	// nanoseconds).
	JobNotBefore      map[string]int64 `json:"jobNotBefore,omitempty"`
	SequenceNotBefore map[string]int64 `json:"sequenceNotBefore,omitempty"`
	// Failures says how each job that failed and is not COMPLETE since failed last, so
	// that the reason of the request's end is known without the job log.
	Failures map[string]JobFailure `json:"failures,omitempty"`
	// Entries counts the job log entries that led here.
	Entries uint64 `json:"entries"`
}

// JobFailure is the last failed try of a job, in short.
type JobFailure struct {
	Seq   uint64 `json:"seq"` // of its job log entry
	Try   uint   `json:"try"`
	Error string `json:"error,omitempty"` // may be cut
	// NotStarted says that the try never ran, since the timeout of a sequence had passed.
	// Error is then a whole sentence, which has what failed before.
	NotStarted bool `json:"notStarted,omitempty"`
}
