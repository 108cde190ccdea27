package plan

import (
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
)

// CatchesUp reports whether the app runs periods that were missed one after the other,
// and skips those that become due meanwhile. Then skipped periods lie between others that
// are still to run.
func (a *App) CatchesUp() bool { return a.Missed() == MissedAll && a.Overlap() == OverlapSkip }

// Skips are ranges of periods that were skipped, in order of their starts.
type Skips []proto.AppEvent

// cover returns the start of the last period of the range that an occurrence is in.
func (s Skips) cover(o calendar.Occurrence) (last time.Time, ok bool) {
	for _, ev := range s {
		if !o.Start.Before(ev.PeriodStart) && !o.Start.After(ev.PeriodTo) {
			return ev.PeriodTo, true
		}
	}
	return last, false
}

// count returns how many periods of [from, to) were skipped.
func (s Skips) count(app *App, from, to time.Time) (n int) {
	for _, ev := range s {
		a, b := ev.PeriodStart, ev.PeriodTo.Add(1)
		if a.Before(from) {
			a = from
		}
		if b.After(to) {
			b = to
		}
		if a.Before(b) {
			n += app.Calendar.Count(a, b, MaxCounted)
		}
	}
	return n
}

// owed returns the first period from following on that was due already when the
// instance started that ends now, and is still to run.
func (a *App) owed(in *proto.Instance, following calendar.Occurrence, skips Skips) (calendar.Occurrence, bool) {
	if !a.CatchesUp() || in.StartedAt == nil {
		return following, false
	}
	for o, ok := following, true; ok && !a.DueAt(o.Start).After(*in.StartedAt); {
		last, covered := skips.cover(o)
		if !covered {
			return o, true
		}
		o, ok = a.Calendar.Next(last)
	}
	return following, false
}
