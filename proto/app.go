package proto

import (
	"encoding/json"
	"fmt"
	"time"
)

// App is recurring work: which request to start, and when. Exactly one of
// Every, Cron, Starts and Depends says when.
type App struct {
	Name    string `json:"name"`
	Request string `json:"request"` // name of the request spec
	Args    Values `json:"args,omitempty"`

	// Every is the time between two starts, on a grid from the Unix epoch.
	Every Duration `json:"every,omitempty"`
	// Cron has five fields, or is a descriptor such as @daily.
	Cron string `json:"cron,omitempty"`
	// Starts is a calendar period: minutely, hourly, daily, weekly, monthly or
	// yearly. An instance starts when its period does.
	Starts string `json:"starts,omitempty"`
	// Depends has, by name of an upstream app, the period that all its instances must
	// have SUCCEEDED in: a calendar period, or a duration on the grid of Every. It is
	// the same for all of them, and the period of this app.
	Depends map[string]string `json:"depends,omitempty"`
	// Timezone is a name such as Europe/Brussels; "" is UTC.
	Timezone string `json:"timezone,omitempty"`

	// Host, if not "", is the host whose Job Runner runs it.
	Host string `json:"host,omitempty"`
	// Timeout bounds an instance from its start; 0 is none.
	Timeout Seconds `json:"timeout,omitempty"`
	// Deadline is when an instance is late, after it was due; 0 is never.
	Deadline Seconds `json:"deadline,omitempty"`
	// Undo is the request that takes back what a failed instance left; "" is none.
	Undo string `json:"undo,omitempty"`
	// FailureDelay is the least time between a failed instance and the next one.
	FailureDelay Seconds `json:"failureDelay,omitempty"`

	// Missed says what becomes of periods that passed while nothing ran: none, last
	// or all, of these at most MissedCap, the newest.
	Missed    string `json:"missed,omitempty"`
	MissedCap uint   `json:"missedCap,omitempty"`
	// Overlap says what becomes of a period that is due while an earlier one runs:
	// skip, queue or allow.
	Overlap string `json:"overlap,omitempty"`
	// Jitter spreads starts: an instance is due up to so long after its period starts,
	// the same time for the same instance always.
	Jitter Seconds `json:"jitter,omitempty"`
	// Gap says what becomes of a wall-clock time that the zone skips: after or skip.
	// Fold says when one that comes twice is meant: first, second or both.
	Gap  string `json:"gap,omitempty"`
	Fold string `json:"fold,omitempty"`
}

// AppStatus is an app and how it stands.
type AppStatus struct {
	App
	Source string `json:"source"` // AppFromSpecs or AppFromAPI
	Paused bool   `json:"paused"`
	// Since is when the first period that is expected starts, or later than that.
	Since time.Time `json:"since"`
	// Next is the instance that comes next, nil if none does or it waits for others;
	// Last is the one that ended last; Running counts those that were started and have
	// not ended.
	Next    *Instance `json:"next,omitempty"`
	Last    *Instance `json:"last,omitempty"`
	Running int       `json:"running"`
	// Problem says what is wrong with the app as things stand, such as an upstream app
	// that is not there; "" if nothing is.
	Problem string `json:"problem,omitempty"`
}

// Where an app is declared.
const (
	AppFromSpecs = "specs"
	AppFromAPI   = "api"
)

// InstanceState is the state of an instance of an app.
type InstanceState uint8

// The states of an instance. Those from InstanceSucceeded on are final.
const (
	InstanceQueued    InstanceState = 1
	InstanceRunning   InstanceState = 2
	InstanceToUndo    InstanceState = 3
	InstanceUndoing   InstanceState = 4
	InstanceSucceeded InstanceState = 5
	InstanceFailed    InstanceState = 6
)

var instanceStates = map[InstanceState]string{
	InstanceQueued: "QUEUED", InstanceRunning: "RUNNING", InstanceToUndo: "TO_UNDO",
	InstanceUndoing: "UNDOING", InstanceSucceeded: "SUCCEEDED", InstanceFailed: "FAILED",
}

// String returns the name of the state.
func (s InstanceState) String() string {
	if name, ok := instanceStates[s]; ok {
		return name
	}
	return fmt.Sprintf("InstanceState(%d)", uint8(s))
}

// Final reports whether nothing comes after the state.
func (s InstanceState) Final() bool { return s >= InstanceSucceeded }

// MarshalJSON writes the name.
func (s InstanceState) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON reads a name.
func (s *InstanceState) UnmarshalJSON(b []byte) error {
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return fmt.Errorf("expected the name of a state such as %q", InstanceQueued)
	}
	for state, n := range instanceStates {
		if n == name {
			*s = state
			return nil
		}
	}
	return fmt.Errorf("%q is not the state of an instance", name)
}

// InstanceSpecifier names an instance as it was at one moment. A change of an
// instance is made only if it still is so.
type InstanceSpecifier struct {
	App string `json:"app"`
	// Number counts the instances of the app, from 1 on, without a hole.
	Number uint64 `json:"number"`
	// Sequence counts the changes of the instance.
	Sequence uint64 `json:"sequence"`
	// Member is who works on the instance; "" if nobody does.
	Member string `json:"member,omitempty"`
}

// Instance is one run of an app, for one period. Times are the database's, in UTC.
type Instance struct {
	InstanceSpecifier
	// Name is the start of the period in the app's zone and the name of the app, such
	// as 2011-01-02-1300-counter.
	Name  string        `json:"name"`
	State InstanceState `json:"state"`
	// The period is from PeriodStart on, up to PeriodEnd without it.
	PeriodStart time.Time `json:"periodStart"`
	PeriodEnd   time.Time `json:"periodEnd"`
	// Run is 0 the first time, and one more each time the period is run again.
	Run  uint      `json:"run"`
	Host string    `json:"host,omitempty"`
	Due  time.Time `json:"due"`
	// StartedAt and FinishedAt are nil until then.
	StartedAt  *time.Time `json:"startedAt"`
	FinishedAt *time.Time `json:"finishedAt"`
	TimeoutAt  *time.Time `json:"timeoutAt,omitempty"`
	// Recurring instances make the next one when they end; those of a backfill or made
	// by upstream apps do not.
	Recurring bool `json:"recurring"`
	// RequestID and UndoRequestID are the requests that it started; UndoTries counts
	// the latter.
	RequestID     string `json:"requestId,omitempty"`
	UndoRequestID string `json:"undoRequestId,omitempty"`
	UndoTries     uint   `json:"undoTries,omitempty"`
	// WaitsFor is the request whose end it waits for.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Reason says why it waits or failed.
	Reason string `json:"reason,omitempty"`
	// Conf has the results of the upstream instances, Result its own. Both are JSON
	// objects or nothing.
	Conf   json.RawMessage `json:"conf,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Member is a Request Manager as part of the schedule engine.
type Member struct {
	ID          string    `json:"id"`
	Host        string    `json:"host"`
	PID         int       `json:"pid"`
	Version     string    `json:"version"`
	StartedAt   time.Time `json:"startedAt"`
	HeartbeatAt time.Time `json:"heartbeatAt"`
}

// Seconds is a length of time that is written as Go writes it or as a number of
// seconds.
type Seconds time.Duration

// String returns it as Go writes durations; "" for none.
func (s Seconds) String() string { return Duration(s).String() }

// MarshalJSON writes it as a string.
func (s Seconds) MarshalJSON() ([]byte, error) { return Duration(s).MarshalJSON() }

// UnmarshalJSON reads a string such as "1m30s", or a number of seconds.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var n float64
	if err := json.Unmarshal(b, &n); err != nil {
		return (*Duration)(s).UnmarshalJSON(b)
	}
	const limit = float64(1<<63-1) / float64(time.Second)
	if n > limit || n < -limit {
		return fmt.Errorf("%v seconds are too many", n)
	}
	*s = Seconds(n * float64(time.Second))
	return nil
}
