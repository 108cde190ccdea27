package engine

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// catchesUp reports whether the app runs periods that were missed one after the other,
// and skips those that become due meanwhile. What was skipped is then between what is
// still to run.
func (j *Job) catchesUp() bool { return j.missed() == missedAll && j.overlap() == overlapSkip }

// skips are ranges of periods that were skipped, in order of their starts.
type skips []store.AppEvent

// skipsSince reads what was skipped of an app from a period on; nothing of one that
// does not catch up, or is up to date.
func (e *Engine) skipsSince(ctx context.Context, j *Job, from, now time.Time) (skips, error) {
	if !j.catchesUp() {
		return nil, nil
	}
	if o, ok := j.cal.Next(from); !ok || j.due(o.Start).After(now) {
		return nil, nil
	}
	return e.store.SkippedIn(ctx, j.App.Name, from, now.Add(time.Second))
}

// cover returns the start of the last period of the range that an occurrence is in.
func (s skips) cover(o calendar.Occurrence) (last time.Time, ok bool) {
	for _, ev := range s {
		if !o.Start.Before(ev.PeriodStart) && !o.Start.After(ev.PeriodTo) {
			return ev.PeriodTo, true
		}
	}
	return last, false
}

// count returns how many periods of [from, to) were skipped.
func (s skips) count(j *Job, from, to time.Time) (n int) {
	for _, ev := range s {
		a, b := ev.PeriodStart, ev.PeriodTo.Add(1)
		if a.Before(from) {
			a = from
		}
		if b.After(to) {
			b = to
		}
		if a.Before(b) {
			n += j.cal.Count(a, b, maxCounted)
		}
	}
	return n
}

// owed returns the first period from following on that was due already when the
// instance started that ends now, and is still to run.
func (j *Job) owed(in *proto.Instance, following calendar.Occurrence, skips skips) (calendar.Occurrence, bool) {
	if !j.catchesUp() || in.StartedAt == nil {
		return following, false
	}
	for o, ok := following, true; ok && !j.due(o.Start).After(*in.StartedAt); {
		last, gone := skips.cover(o)
		if !gone {
			return o, true
		}
		o, ok = j.cal.Next(last)
	}
	return following, false
}
