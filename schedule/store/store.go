package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// Buckets is how many buckets apps are spread over, by the hash of their names. A
// shard is a range of buckets.
const Buckets = 1024

// DefaultShards is how many shards there are until SetShards says otherwise.
const DefaultShards = 64

// Limits of what is stored of an app, in bytes.
const (
	maxMember   = 100
	maxInstance = 200
)

// Reasons of instances that are QUEUED: of a paused app, and of one that was due before
// the app was resumed.
const (
	ReasonPaused    = proto.ReasonPaused
	ReasonWasPaused = proto.ReasonWasPaused
)

var (
	// ErrSource says that an app is declared elsewhere: in the specs, or by the API.
	ErrSource = errors.New("the app is declared elsewhere")
	// ErrStaleApp says that the app is no longer of the generation that the caller
	// worked with. To load it and do the same again is the way on.
	ErrStaleApp = errors.New("the app has changed")
	// ErrAppsChanged says that definitions were changed since the version was read that
	// the caller checked against. To check again is the way on.
	ErrAppsChanged = errors.New("apps were changed at the same time")
	// ErrMemberGone says that a member was gone, or had not been seen for too long:
	// it must come back under another id.
	ErrMemberGone = errors.New("the member is stale: others may have taken over its instances")
)

// SlotTakenError says that an instance cannot start since another one of its app
// runs.
type SlotTakenError struct {
	Number uint64 // of the one that runs, or goes first
	// What is known of that one, as far as it is still live.
	Name, Reason string
	State        proto.InstanceState
	Recurring    bool
}

func (e *SlotTakenError) Error() string {
	return fmt.Sprintf("instance %d of the app runs", e.Number)
}

// Bucket returns the bucket of an app.
func Bucket(app string) uint { return uint(crc32.ChecksumIEEE([]byte(app))) % Buckets }

// BucketRange is the buckets from From on, up to To without it.
type BucketRange struct{ From, To uint }

// Store is what is kept of recurring work in a database. Its methods may be called from many
// goroutines.
type Store struct{ db *database.DB }

// New returns the store in a database, which the caller migrates and closes.
func New(db *database.DB) *Store { return &Store{db} }

// Ping reports whether the database answers. It tries once.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Now returns the time by the database's clock, in UTC, to the microsecond.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.db.Now(ctx) }

// AppRow is an app as it is stored.
type AppRow struct {
	App    proto.App
	Source string // proto.AppFromSpecs or proto.AppFromAPI
	Paused bool
	// Generation counts the definitions, and changes of what depends on the app.
	Generation uint64
	// Since is when the first period that is expected starts, or later than that.
	Since      time.Time
	LastNumber uint64 // of the newest instance; 0 is none
	// ActiveNumber is the instance that holds the slot of the app; 0 is none.
	ActiveNumber uint64
	// DeadlineAt is when the period that starts at DeadlineStart is late; both are nil
	// if none can be.
	DeadlineAt, DeadlineStart *time.Time
	CreatedAt, UpdatedAt      time.Time
}

// AppPut is an app to store.
type AppPut struct {
	App    proto.App
	Source string
	// First is the recurring instance that comes next; nil for an app that depends on
	// others.
	First *NewInstance
	// Since is from when on periods are expected, of an app that is new or whose times
	// change.
	Since                     time.Time
	DeadlineAt, DeadlineStart *time.Time
	// Signals are given if something changes.
	Signals []Signal
	// Version is the AppsVersion that the app was checked against; 0 is any.
	Version uint64
}

// NewInstance is an instance to make. Its number and run are given to it when it is
// stored.
type NewInstance struct {
	Name                   string
	PeriodStart, PeriodEnd time.Time
	Due                    time.Time
	// FetchAt is when it is looked at first; zero is Due.
	FetchAt   time.Time
	Host      string
	Recurring bool
	Conf      json.RawMessage
	Reason    string
}

func (n *NewInstance) fetchAt() int64 {
	if n.FetchAt.IsZero() {
		return n.Due.UnixMicro()
	}
	return n.FetchAt.UnixMicro()
}

// DueInstance is an instance to be looked at, at FetchAt. It has neither Conf nor
// Result.
type DueInstance struct {
	proto.Instance
	FetchAt time.Time
}

// Claim is how an instance is claimed.
type Claim struct {
	Spec   proto.InstanceSpecifier
	Member string
	// Slot says that the instance needs the slot of its app, which one at a time has.
	Slot bool
	// Yields says that a recurring instance of the app goes first if it is due.
	Yields bool
	// InOrder says that an instance of an earlier period goes first if it is due.
	InOrder bool
	// TimeoutAfter bounds the instance from its start; 0 does not.
	TimeoutAfter time.Duration
	// Generation is the one that the app must have; 0 is any.
	Generation uint64
	// Next, if not nil, is the next recurring instance, which is made now and not when
	// this one ends.
	Next *NewInstance
	// Skipped are events to store.
	Skipped []AppEvent
}

// Park is how an instance that waits is released.
type Park struct {
	CheckAfter time.Duration // when it is looked at again
	// RequestID and UndoRequestID replace those of the instance unless they are "".
	// The latter is emptied when State is InstanceToUndo.
	RequestID, UndoRequestID string
	// WaitsFor is a request at whose end it is looked at; "" is none.
	WaitsFor, Reason string
	UndoTries        uint                // 0 keeps the number
	State            proto.InstanceState // 0 keeps the state
}

// Finish is the end of an instance, and all that follows from it.
type Finish struct {
	Spec   proto.InstanceSpecifier
	State  proto.InstanceState // InstanceSucceeded or InstanceFailed
	Reason string
	Result json.RawMessage
	// Generation is the one that the app must have; 0 is any.
	Generation uint64
	// Next, if not nil, is the recurring instance that comes next. It is made unless
	// there is one that waits already.
	Next    *NewInstance
	Signals []Signal
	Events  []AppEvent
}

// Signal says that something happened that may complete a period of an app.
type Signal struct {
	App         string
	PeriodStart time.Time
	// Count is another one each time the signal is given. Callers who give one leave it.
	Count uint64
}

// AppEvent is something that happened to an app: At is set when it is stored.
type AppEvent = proto.AppEvent

// RunResult says what became of one period that was to be run.
type RunResult struct {
	Name        string
	PeriodStart time.Time
	Made        bool
	Why         string // it was not made
}

// InstanceFilter says which instances are listed.
type InstanceFilter = proto.InstanceFilter
