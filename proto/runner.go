package proto

import "time"

// EpochHeader carries the epoch of a chain that an RM sends to a runner or a
// runner reports about.
const EpochHeader = "Treadle-Epoch"

// Runner is a Job Runner process as the registry knows it, and the body of its
// heartbeat (POST /api/v1/job-runners).
type Runner struct {
	// ID is new for every process: a known URL with a new ID proves that the process
	// that was there before is dead.
	ID       string            `json:"id"`
	URL      string            `json:"url"` // base URL, as RMs reach it
	Host     string            `json:"host"`
	PID      int               `json:"pid"`
	Version  string            `json:"version"`
	Labels   map[string]string `json:"labels,omitempty"`
	Capacity uint              `json:"capacity"` // most chains at a time; 0 is no limit
	// Draining runners take no new chains.
	Draining bool `json:"draining"`
	// Running has what the runner holds now.
	Running []RunningChain `json:"running"`

	// StartedAt is when it registered, HeartbeatAt when it was last heard of; both
	// by the database's clock and set by the RM.
	StartedAt   time.Time `json:"startedAt,omitzero"`
	HeartbeatAt time.Time `json:"heartbeatAt,omitzero"`
}

// RunningChain names a chain that a runner holds.
type RunningChain struct {
	RequestID string `json:"requestId"`
	Epoch     uint64 `json:"epoch"`
}

// HeartbeatAnswer is the RM's answer to a heartbeat.
type HeartbeatAnswer struct {
	// Lease is for how long the runner may run jobs from when it sent the heartbeat.
	Lease Duration `json:"lease"`
	// Drop has chains that are no longer the runner's.
	Drop []RunningChain `json:"drop,omitempty"`
	// Stop has chains of the runner that users stopped.
	Stop []RunningChain `json:"stop,omitempty"`
	// Drain asks the runner to hand in what it has and to take nothing new.
	Drain bool `json:"drain,omitempty"`
}
