package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

const (
	// missedAfter is by how much an instance is overdue that was missed.
	missedAfter = time.Minute
	// maxCounted is where the count of skipped periods stops.
	maxCounted = 100_000
)

// Reasons of instances that wait although nothing was missed.
const (
	reasonQueued = "was due while an earlier instance ran"
	reasonSlot   = "waits for instance "
	reasonDelay  = "waits since the last instance failed"
	reasonMissed = "was missed: runs later than it was due"
)

// skipped are periods that do not run, one after the other.
type skipped struct {
	from, to time.Time // starts of the first and the last
	count    int
	why      string
}

func (s *skipped) events(app string) []store.AppEvent {
	if s == nil || s.count == 0 {
		return nil
	}
	return []store.AppEvent{{
		App: app, Kind: proto.AppSkipped, PeriodStart: s.from, PeriodTo: s.to, Count: uint64(s.count), Reason: s.why,
	}}
}

// skip returns the periods from one that starts at from up to the one that starts at
// to, without that.
func (j *Job) skip(from, to time.Time, why string) *skipped {
	n := j.cal.Count(from, to, maxCounted)
	last, ok := j.cal.AtOrBefore(to.Add(-time.Nanosecond))
	if n == 0 || !ok {
		return nil
	}
	return &skipped{from: from, to: last.Start, count: n, why: why}
}

// atStart decides about a recurring instance whose time has come: nil if it runs, or
// the occurrence that it becomes the instance of, and what is skipped by that.
//
// A period is missed if the next one is due too when it is looked at, or if it is
// overdue because nothing looked. One that was held, for its host or because another
// one ran, has a reason, and is not missed as long as it is the newest.
//
// skips are the periods that are skipped already, of an app that catches up.
func (j *Job) atStart(in *proto.Instance, now time.Time, skips skips) (*calendar.Occurrence, *skipped) {
	newest, ok := j.newest(now)
	if !ok || !newest.Start.After(in.PeriodStart) {
		late := now.Sub(in.Due) > missedAfter && (in.Reason == "" || in.Reason == store.ReasonWasPaused)
		if !late || j.missed() != missedNone {
			return nil, nil
		}
		return j.leave(in, in.PeriodStart, now)
	}
	queued := j.overlap() == overlapQueue && (in.Reason == reasonQueued || strings.HasPrefix(in.Reason, reasonSlot))
	switch {
	case queued, j.missed() == missedAll:
		return j.keepNewest(in, newest, skips)
	case j.missed() == missedNone && now.Sub(j.due(newest.Start)) > missedAfter:
		return j.leave(in, newest.Start, now)
	}
	return &newest, j.skip(in.PeriodStart, newest.Start, whyMissed(in))
}

// whyMissed says why periods are missed: what held the instance, as far as it is known.
func whyMissed(in *proto.Instance) string {
	switch {
	case in.Reason == "" || in.Reason == reasonMissed || in.Reason == reasonQueued:
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

// markBackfill is behind the name of an instance in a reasonSlot.
const markBackfill = ", a backfill ("

// reasonBehind is the reason of an instance that waits for another one of its app.
func reasonBehind(j *Job, taken *store.SlotTakenError) string {
	if taken.Name == "" { // it has ended just now
		return fmt.Sprintf("%s%d", reasonSlot, taken.Number)
	}
	why := taken.State.String()
	if taken.Reason != "" {
		why += ": " + taken.Reason
	}
	if j.recurring() && !taken.Recurring {
		return reasonSlot + taken.Name + markBackfill + why + ")"
	}
	return reasonSlot + taken.Name + " (" + why + ")"
}

func behindBackfill(reason string) bool {
	name, ok := strings.CutPrefix(reason, reasonSlot)
	if !ok {
		return false
	}
	name, _, ok = strings.Cut(name, markBackfill)
	return ok && !strings.Contains(name, "(")
}

// leave skips all periods up to the one that starts at last.
func (j *Job) leave(in *proto.Instance, last, now time.Time) (*calendar.Occurrence, *skipped) {
	next, ok := j.cal.Next(last)
	if !ok {
		return nil, nil
	}
	return &next, j.skip(in.PeriodStart, next.Start, whyMissed(in))
}

// keepNewest skips all but the newest of the periods that passed.
func (j *Job) keepNewest(in *proto.Instance, newest calendar.Occurrence, skips skips) (*calendar.Occurrence, *skipped) {
	most := j.most()
	all := j.cal.Count(in.PeriodStart, newest.Start.Add(1), maxCounted)
	if all-skips.count(j, in.PeriodStart, newest.Start.Add(1)) <= most {
		return nil, nil
	}
	oldest, kept := newest, 0
	for o, ok := newest, true; ok && kept < most && o.Start.After(in.PeriodStart); o, ok = j.before(o) {
		if _, gone := skips.cover(o); !gone {
			oldest = o
			kept++
		}
	}
	s := j.skip(in.PeriodStart, oldest.Start, "missed: more than are run later")
	if s != nil {
		s.count -= skips.count(j, in.PeriodStart, oldest.Start)
	}
	return &oldest, s
}

// next returns the recurring instance that comes after one that ends now, and what
// is skipped by that; nil if none comes. skips are as for atStart.
//
// With overlap skip, what became due while the one that ends ran is skipped. What was
// due before that was missed, not overlapped: it runs if missed ones do.
func (j *Job) next(in *proto.Instance, failed bool, now time.Time, skips skips) (*store.NewInstance, *skipped) {
	after := in.PeriodStart
	if before := j.Since.Add(-time.Nanosecond); before.After(after) {
		after = before // its times were changed while it ran: nothing is expected between
	}
	following, ok := j.cal.Next(after)
	if !ok {
		return nil, nil
	}
	o, why := following, reasonQueued
	var gone *skipped
	if j.overlap() == overlapSkip && !j.due(o.Start).After(now) {
		first, comes := j.first(now)
		from := following
		if owed, ok := j.owed(in, following, skips); ok {
			o, why, comes = owed, reasonMissed, true
		} else {
			o = first
		}
		if j.catchesUp() && in.StartedAt != nil {
			if begun, ok := j.first(*in.StartedAt); ok && begun.Start.After(from.Start) {
				from = begun
			}
		}
		if !comes {
			return nil, nil
		}
		if !first.Start.IsZero() && from.Start.Before(first.Start) {
			gone = j.skip(from.Start, first.Start, whyOverlap(in))
		}
	}
	n := j.instance(o)
	if !n.Due.After(now) {
		n.Reason = why
	}
	if delay := time.Duration(j.App.FailureDelay); failed && delay > 0 && now.Add(delay).After(n.Due) {
		n.FetchAt, n.Reason = now.Add(delay), reasonDelay
	}
	return n, gone
}
