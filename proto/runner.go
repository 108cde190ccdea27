package proto

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// EpochHeader carries the epoch of a chain that an RM sends to a runner or a
// runner reports about.
const EpochHeader = "Treadle-Epoch"

// RunnerHeader names the runner, by its ID, that a chain is handed over to.
const RunnerHeader = "Treadle-Runner"

// HandOver says whom a chain is handed over to, and under what.
type HandOver struct {
	// RunnerID is the runner that the RM means. Another one at its address, or the
	// same process after its lease ended, must not take the chain: its RM counts it as
	// lost, or will. "" is whoever is there.
	RunnerID string
	Epoch    uint64
}

// Runner is a Job Runner process as the registry knows it, and the body of its
// heartbeat (POST /api/v1/job-runners).
type Runner struct {
	// ID is new for every process, and again after each lease that ended, then with a
	// dot and a number: a known URL with a new ID proves that nothing runs any more of
	// what was there before.
	ID       string            `json:"id"`
	URL      string            `json:"url"` // base URL, as RMs reach it
	Host     string            `json:"host"`
	PID      int               `json:"pid"`
	Version  string            `json:"version"`
	Labels   map[string]string `json:"labels,omitempty"`
	Capacity uint              `json:"capacity"` // limit of chains at a time; 0 is no limit
	// Draining runners accept no new chains.
	Draining bool `json:"draining"`
	// Running has what the runner holds now.
	Running []RunningChain `json:"running"`
	// Beat counts the heartbeats of the process. Applied is the last one whose answer
	// it has acted on. They are not stored.
	Beat    uint64 `json:"beat,omitempty"`
	Applied uint64 `json:"applied,omitempty"`

	// StartedAt is when it registered, HeartbeatAt when it was last seen; both
	// by the database's clock and set by the RM.
	StartedAt   time.Time `json:"startedAt,omitzero"`
	HeartbeatAt time.Time `json:"heartbeatAt,omitzero"`
}

// Limits of what a runner says of itself, in bytes. The columns of the database are as
// wide.
const (
	maxRunnerID      = 100
	maxRunnerURL     = 500
	maxRunnerVersion = 100
	maxRunnerLabels  = 60_000
)

// Check returns what is wrong with what a runner says of itself, nil if nothing is: no
// database can hold what it refuses.
func (r *Runner) Check() error {
	if r.ID == "" || r.URL == "" {
		return errors.New("id and url: a runner needs both")
	}
	for _, text := range []struct {
		field, value string
		limit        int
	}{{"id", r.ID, maxRunnerID}, {"url", r.URL, maxRunnerURL}, {"version", r.Version, maxRunnerVersion}} {
		if len(text.value) > text.limit || !utf8.ValidString(text.value) || strings.ContainsFunc(text.value, unicode.IsControl) {
			return fmt.Errorf("%s: expected at most %d bytes of text without control characters", text.field, text.limit)
		}
	}
	if err := CheckHost(r.Host); err != nil {
		return fmt.Errorf("host: the name of the host %w", err)
	}
	size := 0
	for k, v := range r.Labels {
		size += len(k) + len(v) + len(`"":"",`)
	}
	if size > maxRunnerLabels {
		return fmt.Errorf("labels: have more than %d bytes", maxRunnerLabels)
	}
	if r.PID < 0 || r.Capacity > math.MaxInt32 {
		return errors.New("pid or capacity: out of range")
	}
	return nil
}

// RunnerIdentity is the answer of a runner to who it is (GET /api/v1/runner).
type RunnerIdentity struct {
	ID string `json:"id"`
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
	// Refuse has chains that were handed over to the runner and are not there. It must
	// not take them any more, however late they come: once it has acted on the answer, they are
	// recovered.
	Refuse []RunningChain `json:"refuse,omitempty"`
	// Stop has chains of the runner that users stopped.
	Stop []RunningChain `json:"stop,omitempty"`
	// Drain asks the runner to hand back what it has and to accept nothing new.
	Drain bool `json:"drain,omitempty"`
}
