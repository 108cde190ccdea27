package schedule

import (
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
func (j *Job) atStart(in *proto.Instance, now time.Time) (*calendar.Occurrence, *skipped) {
	newest, ok := j.newest(now)
	if !ok || !newest.Start.After(in.PeriodStart) {
		late := now.Sub(in.Due) > missedAfter && in.Reason == ""
		if !late || j.missed() != missedNone {
			return nil, nil
		}
		return j.leave(in, in.PeriodStart, now)
	}
	queued := j.overlap() == overlapQueue && (in.Reason == reasonQueued || strings.HasPrefix(in.Reason, reasonSlot))
	switch {
	case queued, j.missed() == missedAll:
		return j.keepNewest(in, newest)
	case j.missed() == missedNone && now.Sub(j.due(newest.Start)) > missedAfter:
		return j.leave(in, newest.Start, now)
	}
	return &newest, j.skip(in.PeriodStart, newest.Start, "missed")
}

// leave skips all periods up to the one that starts at last.
func (j *Job) leave(in *proto.Instance, last, now time.Time) (*calendar.Occurrence, *skipped) {
	next, ok := j.cal.Next(last)
	if !ok {
		return nil, nil
	}
	return &next, j.skip(in.PeriodStart, next.Start, "missed")
}

// keepNewest skips all but the newest of the periods that passed.
func (j *Job) keepNewest(in *proto.Instance, newest calendar.Occurrence) (*calendar.Occurrence, *skipped) {
	most := j.most()
	if j.cal.Count(in.PeriodStart, newest.Start.Add(1), most+1) <= most {
		return nil, nil
	}
	oldest := newest
	for range most - 1 {
		o, ok := j.before(oldest)
		if !ok || !o.Start.After(in.PeriodStart) {
			break
		}
		oldest = o
	}
	return &oldest, j.skip(in.PeriodStart, oldest.Start, "missed: more than are run later")
}

// next returns the recurring instance that comes after one that ends now, and what
// is skipped by that; nil if none comes.
func (j *Job) next(in *proto.Instance, failed bool, now time.Time) (*store.NewInstance, *skipped) {
	following, ok := j.cal.Next(in.PeriodStart)
	if !ok {
		return nil, nil
	}
	o := following
	var gone *skipped
	if j.overlap() == overlapSkip && !j.due(o.Start).After(now) {
		if o, ok = j.first(now); !ok {
			return nil, nil
		}
		gone = j.skip(following.Start, o.Start, "overlap: an earlier instance ran")
	}
	n := j.instance(o)
	if !n.Due.After(now) {
		n.Reason = reasonQueued
	}
	if delay := time.Duration(j.App.FailureDelay); failed && delay > 0 && now.Add(delay).After(n.Due) {
		n.FetchAt, n.Reason = now.Add(delay), reasonDelay
	}
	return n, gone
}
