package proto

import "time"

// PeriodState says how a period of an app stands.
type PeriodState string

// The states of a period.
const (
	// PeriodExpected is a period that will come, or that came and was not looked at yet.
	PeriodExpected PeriodState = "expected"
	// PeriodWaiting is one whose instance is not there yet: upstream apps have not
	// SUCCEEDED.
	PeriodWaiting PeriodState = "waiting"
	// PeriodQueued is one whose instance is due and has not started: see its reason.
	PeriodQueued    PeriodState = "queued"
	PeriodRunning   PeriodState = "running"
	PeriodUndoing   PeriodState = "undoing"
	PeriodSucceeded PeriodState = "succeeded"
	PeriodFailed    PeriodState = "failed"
	// PeriodSkipped is one that does not run, for the reason that is given.
	PeriodSkipped PeriodState = "skipped"
)

// Period is one line of the ledger of an app: a period that is expected, and what
// became of it.
type Period struct {
	App   string      `json:"app"`
	Name  string      `json:"name"` // as that of its instance
	Start time.Time   `json:"start"`
	End   time.Time   `json:"end"`
	Due   time.Time   `json:"due"`
	State PeriodState `json:"state"`
	// Number and Run are those of its last instance; 0 if there is none.
	Number     uint64     `json:"number,omitempty"`
	Run        uint       `json:"run,omitempty"`
	StartedAt  *time.Time `json:"startedAt"`
	FinishedAt *time.Time `json:"finishedAt"`
	RequestID  string     `json:"requestId,omitempty"`
	// Late says that it was not done by the deadline of the app.
	Late bool `json:"late"`
	// Reason says why it was skipped, waits or failed; Why what is unusual in its time.
	Reason string `json:"reason,omitempty"`
	Why    string `json:"why,omitempty"`
	// Waits has the upstream apps that it waits for, Blocks the apps that cannot start
	// before it has SUCCEEDED. Both are by name, and empty once it has.
	Waits  []string `json:"waits,omitempty"`
	Blocks []string `json:"blocks,omitempty"`
}

// Blocked is a period of an app that waits for upstream apps.
type Blocked struct {
	App   string      `json:"app"`
	Name  string      `json:"name"`
	Start time.Time   `json:"start"`
	End   time.Time   `json:"end"`
	On    []BlockedOn `json:"on"`
}

// BlockedOn is an upstream app that has not SUCCEEDED for all of a period.
type BlockedOn struct {
	App string `json:"app"`
	// Expected counts the instances of the upstream app that the period needs, Done
	// those that have SUCCEEDED.
	Expected int `json:"expected"`
	Done     int `json:"done"`
	// First is the name of the first one that is missing, Why what is known of it.
	First string `json:"first,omitempty"`
	Why   string `json:"why,omitempty"`
}

// HostState is how an instance stands as its host sees it.
type HostState string

// The states of instances of a host.
const (
	HostPending HostState = "pending"
	HostRunning HostState = "running"
	HostDone    HostState = "done"
	HostFailed  HostState = "failed"
)

// HostInstance is an instance that a host was given.
type HostInstance struct {
	Name  string    `json:"name"`
	App   string    `json:"app"`
	State HostState `json:"state"`
	// Conf has the results of its upstream instances.
	Conf map[string]any `json:"conf,omitempty"`
	// Reason says why it waits or failed.
	Reason string `json:"reason,omitempty"`
}

// NextTime is a time when an app will start.
type NextTime struct {
	Name  string    `json:"name"`  // of the instance
	Start time.Time `json:"start"` // of the period
	End   time.Time `json:"end"`
	Due   time.Time `json:"due"` // Start and the jitter
	// Why says what is unusual in it, such as a clock that is put forward; "" if nothing is.
	Why string `json:"why,omitempty"`
}

// RunPeriods asks for instances of periods of an app: one, or all that start
// from From on, before To.
type RunPeriods struct {
	// Period, From and To are times as in RFC 3339, or names of instances. A time
	// stands for the period that it is in. Period stands alone.
	Period string `json:"period,omitempty"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	// Again runs periods again that have SUCCEEDED; without it only those that failed or
	// never ran.
	Again bool `json:"again,omitempty"`
	// Force does not wait for upstream apps.
	Force bool `json:"force,omitempty"`
}

// RunPeriodsAnswer says what became of each period.
type RunPeriodsAnswer struct {
	Periods []RunPeriod `json:"periods"`
}

// RunPeriod is a period that was asked for.
type RunPeriod struct {
	Name  string    `json:"name"`
	Start time.Time `json:"start"`
	// Made says that there is a new instance; else Why says why not.
	Made bool   `json:"made"`
	Why  string `json:"why,omitempty"`
}

// InstanceFilter says which instances a list has. Zero fields do not filter.
type InstanceFilter struct {
	App    string
	Host   string
	States []InstanceState
	// Since leaves out periods that start before it, Until those that start at or
	// after it.
	Since, Until time.Time
	// Limit is how many instances to return at most; 0 is a default. Offset needs a Limit.
	Limit, Offset uint
}

// AppEvent is something in the life of an app that its instances do not show.
type AppEvent struct {
	ID   uint64 `json:"id"`
	App  string `json:"app"`
	Kind string `json:"kind"` // AppSkipped, AppLate ...
	// PeriodStart is the start of the period that it is about; of Count periods that
	// were skipped together, of the first, and PeriodTo of the last.
	PeriodStart time.Time `json:"periodStart"`
	PeriodTo    time.Time `json:"periodTo,omitzero"`
	Count       uint64    `json:"count,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	At          time.Time `json:"at"`
}

// The kinds of events of apps.
const (
	AppSkipped    = "skipped"     // periods that do not run
	AppLate       = "late"        // a period was not done by its deadline
	AppFailed     = "failed"      // an instance failed
	AppUndoFailed = "undo_failed" // a try to undo an instance failed; there will be others
	AppStolen     = "stolen"      // an instance was taken over from a member that was not seen for too long
)

// Reasons of instances that are QUEUED: of a paused app, and of one that was due before
// the app was resumed.
const (
	ReasonPaused    = "the app is paused"
	ReasonWasPaused = "the app was paused"
)

// MemberStatus is a Request Manager that runs instances, and how it stands.
type MemberStatus struct {
	Member
	Live bool `json:"live"`
	// Shards counts the shards that are its own.
	Shards int `json:"shards"`
}
