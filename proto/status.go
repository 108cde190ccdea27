package proto

// JobStatus is what a job that runs is doing now.
type JobStatus struct {
	RequestID string `json:"requestId"`
	JobID     string `json:"jobId"`
	Type      string `json:"type"`
	Name      string `json:"name"`
	StartedAt int64  `json:"startedAt"` // of this try, Unix nanoseconds
	State     State  `json:"state"`
	Status    string `json:"status,omitempty"` // in the job's own words
	Try       uint   `json:"try"`
}

// RunningStatus is all that runs now, oldest job first.
type RunningStatus struct {
	Jobs []JobStatus `json:"jobs"`
	// Requests has the requests of these jobs, by id.
	Requests map[string]Request `json:"requests"`
	// Unreachable has the base URLs of runners that run something and did not
	// answer in time: what they run is missing above.
	Unreachable []string `json:"unreachable,omitempty"`
}
