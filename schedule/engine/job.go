package engine

import (
	"errors"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// The values of proto.App.Missed and proto.App.Overlap.
const (
	missedNone = "none"
	missedLast = "last"
	missedAll  = "all"

	overlapSkip  = "skip"
	overlapQueue = "queue"
	overlapAllow = "allow"
)

const (
	// defaultCap is how many missed or queued periods run where the app does not say.
	defaultCap = 100
)

// Job is the compiled definition of an app. It does not change.
type Job struct {
	store.AppRow
	cal *calendar.Calendar
	// deleted jobs see the instances through that run, and make no next one.
	deleted bool
}

func compile(row store.AppRow) (*Job, error) {
	cal, err := calendarOf(row.App)
	if err != nil {
		return nil, err
	}
	return &Job{AppRow: row, cal: cal}, nil
}

// calendarOf returns the calendar of the periods of an app. The error has
// CodeInvalid and names the field.
func calendarOf(app proto.App) (*calendar.Calendar, error) {
	cal, err := calendar.New(app)
	if field, ok := errors.AsType[*calendar.FieldError](err); ok {
		return nil, proto.Errorf(proto.CodeInvalid, "app %s: %s", app.Name, field.Error())
	}
	return cal, err
}

// recurring reports whether the app starts by time, and not when others are done.
func (j *Job) recurring() bool { return len(j.App.Depends) == 0 }

// makesNext reports whether a recurring instance that ends makes the next one.
func (j *Job) makesNext() bool { return j.recurring() && !j.deleted }

// missed says what becomes of periods that passed while nothing ran.
func (j *Job) missed() string {
	switch {
	case j.App.Missed != "":
		return j.App.Missed
	case j.App.Starts != "":
		return missedAll
	}
	return missedLast
}

// most is how many periods that passed are run, at most.
func (j *Job) most() int {
	if j.App.MissedCap == 0 {
		return defaultCap
	}
	return int(min(j.App.MissedCap, proto.MaxMissedCap))
}

// overlap says what becomes of a period that is due while an earlier one runs.
func (j *Job) overlap() string {
	switch {
	case j.App.Overlap != "":
		return j.App.Overlap
	case j.App.Starts != "" || !j.recurring():
		return overlapQueue
	}
	return overlapSkip
}

// due is when the instance of a period that starts then is due.
func (j *Job) due(start time.Time) time.Time {
	return start.Add(j.cal.Jitter(j.App, start))
}

// instance returns the instance of a period, to be made.
func (j *Job) instance(o calendar.Occurrence) *store.NewInstance {
	return &store.NewInstance{
		Name: j.cal.Name(o.Start, j.App.Name), PeriodStart: o.Start, PeriodEnd: o.End,
		Due: j.due(o.Start), Host: j.App.Host, Recurring: j.recurring(),
	}
}

// first returns the occurrence that is the first to become due after now.
func (j *Job) first(now time.Time) (calendar.Occurrence, bool) {
	// Of one that has begun, the jitter may be still to come.
	if o, ok := j.cal.AtOrBefore(now); ok && j.due(o.Start).After(now) {
		return o, true
	}
	return j.cal.Next(now)
}

// newest returns the last occurrence that is due at now.
func (j *Job) newest(now time.Time) (calendar.Occurrence, bool) {
	o, ok := j.cal.AtOrBefore(now)
	if ok && j.due(o.Start).After(now) {
		return j.before(o)
	}
	return o, ok
}

// before returns the occurrence before another one.
func (j *Job) before(o calendar.Occurrence) (calendar.Occurrence, bool) {
	return j.cal.AtOrBefore(o.Start.Add(-time.Nanosecond))
}
