package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/treadle-run/treadle/proto"
)

const (
	unknownLogEvery = time.Minute
	// maxUnknown bounds for how many instances it is remembered since when they are left
	// alone. Any others are left alone as well.
	maxUnknown = 10_000
)

// unknown has the instances whose work this member does not know, and since when it
// leaves each alone.
type unknown struct {
	log *slog.Logger

	mu       sync.Mutex
	since    map[instanceKey]leftAlone
	loggedAt time.Time
}

type leftAlone struct {
	sequence uint64
	at       time.Time
}

func newUnknown(log *slog.Logger) *unknown {
	return &unknown{log: log, since: map[instanceKey]leftAlone{}}
}

// leaveToOthers leaves an instance alone if its work is not known here. Once it is overdue
// for so long that every member has looked at it, it is held with the reason, and this
// starts over. It never fails for that.
func (x *Executor) leaveToOthers(ctx context.Context, in proto.Instance, what string) error {
	age := x.unknown.age(in, what)
	// Others take what is overdue by StaleAfter.
	if in.State != proto.InstanceQueued || age < 2*x.staleAfter {
		return errDropped
	}
	x.unknown.forget(in)
	return x.hold(ctx, in, "no Request Manager that looked knows "+what, readyCheck)
}

// age is for how long the instance has been left alone, as it is now.
func (u *unknown) age(in proto.Instance, what string) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	left, ok := u.since[keyOf(in)]
	if !ok || left.sequence != in.Sequence {
		if left = (leftAlone{in.Sequence, now}); ok || u.room(now) {
			u.since[keyOf(in)] = left
		}
	}
	if now.Sub(u.loggedAt) >= unknownLogEvery {
		u.loggedAt = now
		u.log.Warn("instances of apps that the specs of this Request Manager do not know are left to others",
			"app", in.App, "instance", in.Name, "unknown", what, "instances", len(u.since))
	}
	return now.Sub(left.at)
}

// room reports whether one more fits, and forgets those that others have taken.
func (u *unknown) room(now time.Time) bool {
	if len(u.since) < maxUnknown {
		return true
	}
	for key, left := range u.since {
		if now.Sub(left.at) > 10*time.Minute {
			delete(u.since, key)
		}
	}
	return len(u.since) < maxUnknown
}

func (u *unknown) forget(in proto.Instance) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.since, keyOf(in))
}
