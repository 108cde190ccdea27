package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
)

const (
	// missedAfter is by how much an instance is overdue that was missed.
	missedAfter = time.Minute
	// MaxCounted is where the count of skipped periods stops.
	MaxCounted = 100_000
)

// Reasons of instances that wait although nothing was missed.
const (
	ReasonQueued = "was due while an earlier instance ran"
	ReasonSlot   = "waits for instance "
	ReasonDelay  = "waits since the last instance failed"
	ReasonMissed = "was missed: runs later than it was due"
)

// Skipped are periods that do not run, one after the other.
type Skipped struct {
	from, to time.Time // starts of the first and the last
	Count    int
	why      string
}

// Events returns what is recorded of them. It may be called of nil.
func (s *Skipped) Events(app string) []proto.AppEvent {
	if s == nil || s.Count == 0 {
		return nil
	}
	return []proto.AppEvent{{
		App: app, Kind: proto.AppSkipped, PeriodStart: s.from, PeriodTo: s.to, Count: uint64(s.Count), Reason: s.why,
	}}
}

// skip returns the periods that start in [from, to).
func (a *App) skip(from, to time.Time, why string) *Skipped {
	n := a.Calendar.Count(from, to, MaxCounted)
	last, ok := a.Calendar.AtOrBefore(to.Add(-time.Nanosecond))
	if n == 0 || !ok {
		return nil
	}
	return &Skipped{from: from, to: last.Start, Count: n, why: why}
}

// AtStart decides about a recurring instance whose time has come: nil if it runs, or
// the occurrence that it becomes the instance of, and what is skipped by that.
//
// A period is missed if the next one is due too when it is looked at, or if it is
// overdue because nothing looked. An instance that was held, for its host or because
// another one ran, has a reason, and is not missed as long as it is the newest.
//
// skips are the periods that are skipped already, of an app that catches up.
func (a *App) AtStart(in *proto.Instance, now time.Time, skips Skips) (*calendar.Occurrence, *Skipped) {
	newest, ok := a.newest(now)
	if !ok || !newest.Start.After(in.PeriodStart) {
		late := now.Sub(in.Due) > missedAfter && (in.Reason == "" || in.Reason == proto.ReasonWasPaused)
		if !late || a.Missed() != MissedNone {
			return nil, nil
		}
		return a.leave(in, in.PeriodStart, now)
	}
	queued := a.Overlap() == OverlapQueue && (in.Reason == ReasonQueued || strings.HasPrefix(in.Reason, ReasonSlot))
	switch {
	case queued, a.Missed() == MissedAll:
		return a.keepNewest(in, newest, skips)
	case a.Missed() == MissedNone && now.Sub(a.DueAt(newest.Start)) > missedAfter:
		return a.leave(in, newest.Start, now)
	}
	return &newest, a.skip(in.PeriodStart, newest.Start, whyMissed(in))
}

// whyMissed says why periods are missed: what held the instance, as far as it is known.
func whyMissed(in *proto.Instance) string {
	switch {
	case in.Reason == "" || in.Reason == ReasonMissed || in.Reason == ReasonQueued:
		return "missed"
	case behindBackfill(in.Reason):
		return "overlap: a backfill ran"
	}
	return "missed: " + in.Reason
}

// whyOverlap says why periods are skipped that became due while an instance ran.
func whyOverlap(in *proto.Instance) string {
	if in.UndoTries > 0 {
		return fmt.Sprintf("overlap: %s failed, and so did its undo, %d times", in.Name, in.UndoTries)
	}
	return "overlap: an earlier instance ran"
}

// Holder is the instance that holds the slot of its app, or goes first.
type Holder struct {
	Number uint64
	// What is known of that one, as far as it is still live.
	Name, Reason string
	State        proto.InstanceState
	Recurring    bool
}

// markBackfill follows the name of an instance in a ReasonSlot.
const markBackfill = ", a backfill ("

// ReasonBehind is the reason of an instance that waits for another one of its app.
func ReasonBehind(a *App, taken Holder) string {
	if taken.Name == "" { // it has ended just now
		return fmt.Sprintf("%s%d", ReasonSlot, taken.Number)
	}
	why := taken.State.String()
	if taken.Reason != "" {
		why += ": " + taken.Reason
	}
	if a.Recurring() && !taken.Recurring {
		return ReasonSlot + taken.Name + markBackfill + why + ")"
	}
	return ReasonSlot + taken.Name + " (" + why + ")"
}

func behindBackfill(reason string) bool {
	name, ok := strings.CutPrefix(reason, ReasonSlot)
	if !ok {
		return false
	}
	name, _, ok = strings.Cut(name, markBackfill)
	return ok && !strings.Contains(name, "(")
}

// leave skips all periods up to the one that starts at last, that one too.
func (a *App) leave(in *proto.Instance, last, now time.Time) (*calendar.Occurrence, *Skipped) {
	next, ok := a.Calendar.Next(last)
	if !ok {
		return nil, nil
	}
	return &next, a.skip(in.PeriodStart, next.Start, whyMissed(in))
}

// keepNewest skips all but the newest of the periods that passed.
func (a *App) keepNewest(in *proto.Instance, newest calendar.Occurrence, skips Skips) (*calendar.Occurrence, *Skipped) {
	limit := a.missedLimit()
	all := a.Calendar.Count(in.PeriodStart, newest.Start.Add(1), MaxCounted)
	if all-skips.count(a, in.PeriodStart, newest.Start.Add(1)) <= limit {
		return nil, nil
	}
	oldest, kept := newest, 0
	for o, ok := newest, true; ok && kept < limit && o.Start.After(in.PeriodStart); o, ok = a.Before(o) {
		if _, covered := skips.cover(o); !covered {
			oldest = o
			kept++
		}
	}
	s := a.skip(in.PeriodStart, oldest.Start, "missed: more than are run later")
	if s != nil {
		s.Count -= skips.count(a, in.PeriodStart, oldest.Start)
	}
	return &oldest, s
}

// NextInstance returns the recurring instance that comes after one that ends now, and what
// is skipped by that; nil if none comes. skips are as for AtStart.
//
// With overlap skip, what became due while the one that ends ran is skipped. What was
// due before that was missed, not overlapped: it runs if missed ones do.
func (a *App) NextInstance(in *proto.Instance, failed bool, now time.Time, skips Skips) (*NewInstance, *Skipped) {
	after := in.PeriodStart
	if before := a.Since.Add(-time.Nanosecond); before.After(after) {
		after = before // its times were changed while it ran: nothing is expected between
	}
	following, ok := a.Calendar.Next(after)
	if !ok {
		return nil, nil
	}
	o, why := following, ReasonQueued
	var skipped *Skipped
	if a.Overlap() == OverlapSkip && !a.DueAt(o.Start).After(now) {
		first, comes := a.First(now)
		from := following
		if owed, ok := a.owed(in, following, skips); ok {
			o, why, comes = owed, ReasonMissed, true
		} else {
			o = first
		}
		if a.CatchesUp() && in.StartedAt != nil {
			if after, ok := a.First(*in.StartedAt); ok && after.Start.After(from.Start) {
				from = after
			}
		}
		if !comes {
			return nil, nil
		}
		if !first.Start.IsZero() && from.Start.Before(first.Start) {
			skipped = a.skip(from.Start, first.Start, whyOverlap(in))
		}
	}
	n := a.Instance(o)
	if !n.Due.After(now) {
		n.Reason = why
	}
	if delay := time.Duration(a.Def.FailureDelay); failed && delay > 0 && now.Add(delay).After(n.Due) {
		n.FetchAt, n.Reason = now.Add(delay), ReasonDelay
	}
	return n, skipped
}
