package plan

import (
	"time"

	"github.com/treadle-run/treadle/calendar"
)

// DeadlineOf returns the start of a period and when it is late; nils if it never is.
func (a *App) DeadlineOf(start, end time.Time) (from, at *time.Time) {
	if a.Def.Deadline <= 0 {
		return nil, nil
	}
	late := a.DueAt(start).Add(time.Duration(a.Def.Deadline))
	if !a.Recurring() {
		late = end.Add(time.Duration(a.Def.Deadline))
	}
	return &start, &late
}

// NextDeadline returns the first period from the one that starts at from on whose
// deadline is after now, and that deadline; nils if there is none.
func (a *App) NextDeadline(ups map[string]*App, from, now time.Time) (start, at *time.Time) {
	deadline := time.Duration(a.Def.Deadline)
	if deadline <= 0 {
		return nil, nil
	}
	lateAt := func(o calendar.Occurrence) time.Time {
		if a.Recurring() {
			return a.DueAt(o.Start).Add(deadline)
		}
		return a.LastDue(ups, o).Add(deadline)
	}
	// All periods before this one are late by now if they are not done: their ends, and
	// so all that they need, were due before.
	o, ok := a.Calendar.AtOrBefore(now.Add(-deadline - time.Duration(a.Def.Jitter)))
	if ok && !a.Recurring() {
		o, ok = a.Before(o)
	}
	if !ok || o.Start.Before(from) {
		if o, ok = a.Calendar.AtOrBefore(from); !ok {
			return nil, nil
		}
	}
	for !lateAt(o).After(now) {
		if o, ok = a.Calendar.Next(o.Start); !ok {
			return nil, nil
		}
	}
	late := lateAt(o)
	return &o.Start, &late
}

// need says which occurrences of an upstream app a period needs: those that start in
// it and are expected at all. last is the last one; ok is false if there is none.
func (a *App) need(o calendar.Occurrence) (from time.Time, last calendar.Occurrence, ok bool) {
	from = o.Start
	if a.Since.After(from) {
		from = a.Since
	}
	last, ok = a.Calendar.AtOrBefore(o.End.Add(-time.Nanosecond))
	return from, last, ok && !last.Start.Before(from)
}

// LastDue is when a period of an app can start at the earliest: when the last instance
// that it needs is due.
func (a *App) LastDue(ups map[string]*App, o calendar.Occurrence) time.Time {
	due := o.Start
	for _, up := range ups {
		if _, last, ok := up.need(o); ok && up.DueAt(last.Start).After(due) {
			due = up.DueAt(last.Start)
		}
	}
	return due
}
