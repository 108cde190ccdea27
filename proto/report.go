package proto

import "time"

// Report is a batch of what happened on a runner (POST /api/v1/reports).
type Report struct {
	RunnerID string       `json:"runnerId"`
	Items    []ReportItem `json:"items"`
}

// ReportItem is what happened to one chain. The RM stores an item whole or refuses it
// whole.
type ReportItem struct {
	RequestID string   `json:"requestId"`
	Epoch     uint64   `json:"epoch"`
	Entries   []JobLog `json:"entries,omitempty"` // in the order of Seq
	// FinishedJobs is the count after Entries.
	FinishedJobs uint `json:"finishedJobs"`
	// Final is the state that the chain ended in, or StateUnknown if it goes on.
	Final State `json:"final,omitempty"`
	// Reason says why the chain ended as it did, if Final is FAIL or STOPPED.
	Reason string `json:"reason,omitempty"`
	// Suspended hands the chain in.
	Suspended *SuspendedJobChain `json:"suspended,omitempty"`
	// LogLength, if not nil, is how many entries the log must have with those of the
	// item: else it is refused. It is for an RM that computed the item from the log,
	// which may have grown meanwhile, and never on the wire.
	LogLength *uint64 `json:"-"`
}

// ReportAnswer is the RM's answer to a report: every item not refused is durable.
type ReportAnswer struct {
	Refused []Refusal `json:"refused,omitempty"`
}

// Refusal says that an item of a report was not stored because the chain is no
// longer the runner's under that epoch. The runner drops the chain.
type Refusal struct {
	RequestID string `json:"requestId"`
	Epoch     uint64 `json:"epoch"`
	Message   string `json:"message"`
}

// Finish is the body of PUT /api/v1/requests/:id/finish.
type Finish struct {
	RequestID    string    `json:"requestId"`
	State        State     `json:"state"`
	FinishedAt   time.Time `json:"finishedAt"`
	FinishedJobs uint      `json:"finishedJobs"`
}

// Progress is the body of PUT /api/v1/requests/:id/progress.
type Progress struct {
	RequestID    string `json:"requestId"`
	FinishedJobs uint   `json:"finishedJobs"`
}
