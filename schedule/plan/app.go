package plan

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
)

// The values of proto.App.Missed and proto.App.Overlap.
const (
	MissedNone = "none"
	MissedLast = "last"
	MissedAll  = "all"

	OverlapSkip  = "skip"
	OverlapQueue = "queue"
	OverlapAllow = "allow"
)

// defaultCap is how many missed or queued periods run where the app does not say.
const defaultCap = 100

// App is the compiled definition of an app. It does not change.
type App struct {
	Def proto.App
	// Since is when the first period that is expected starts, or later than that.
	Since time.Time
	// Generation counts the definitions: what is decided by this one is stored only
	// while the app is still of it.
	Generation uint64
	// Deleted apps see the instances through that run, and make no next one.
	Deleted  bool
	Calendar *calendar.Calendar
}

// NewInstance is an instance that is to be made.
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

// Compile returns the compiled definition. The error has CodeInvalid: the app has no
// calendar.
func Compile(def proto.App, since time.Time, generation uint64) (*App, error) {
	cal, err := CalendarOf(def)
	if err != nil {
		return nil, err
	}
	return &App{Def: def, Since: since, Generation: generation, Calendar: cal}, nil
}

// CalendarOf returns the calendar of the periods of an app. The error has
// CodeInvalid and names the field.
func CalendarOf(def proto.App) (*calendar.Calendar, error) {
	cal, err := calendar.New(def)
	if field, ok := errors.AsType[*calendar.FieldError](err); ok {
		return nil, proto.Errorf(proto.CodeInvalid, "app %s: %s", def.Name, field.Error())
	}
	return cal, err
}

// Recurring reports whether the app starts by time, and not when others are done.
func (a *App) Recurring() bool { return len(a.Def.Depends) == 0 }

// MakesNext reports whether a recurring instance that ends makes the next one.
func (a *App) MakesNext() bool { return a.Recurring() && !a.Deleted }

// Missed says what becomes of periods that passed while nothing ran.
func (a *App) Missed() string {
	switch {
	case a.Def.Missed != "":
		return a.Def.Missed
	case a.Def.Starts != "":
		return MissedAll
	}
	return MissedLast
}

// missedLimit is the limit of how many periods that passed are run.
func (a *App) missedLimit() int {
	if a.Def.MissedCap == 0 {
		return defaultCap
	}
	return int(min(a.Def.MissedCap, proto.MaxMissedCap))
}

// Overlap says what becomes of a period that is due while an earlier one runs.
func (a *App) Overlap() string {
	switch {
	case a.Def.Overlap != "":
		return a.Def.Overlap
	case a.Def.Starts != "" || !a.Recurring():
		return OverlapQueue
	}
	return OverlapSkip
}

// DueAt is when the instance of a period that starts then is due.
func (a *App) DueAt(start time.Time) time.Time {
	return start.Add(a.Calendar.Jitter(a.Def, start))
}

// Instance returns the instance of a period, to be made.
func (a *App) Instance(o calendar.Occurrence) *NewInstance {
	return &NewInstance{
		Name: a.Calendar.Name(o.Start, a.Def.Name), PeriodStart: o.Start, PeriodEnd: o.End,
		Due: a.DueAt(o.Start), Host: a.Def.Host, Recurring: a.Recurring(),
	}
}

// First returns the first occurrence that becomes due after now.
func (a *App) First(now time.Time) (calendar.Occurrence, bool) {
	// The jitter of a period that has started may be still to come.
	if o, ok := a.Calendar.AtOrBefore(now); ok && a.DueAt(o.Start).After(now) {
		return o, true
	}
	return a.Calendar.Next(now)
}

// newest returns the last occurrence that is due at now.
func (a *App) newest(now time.Time) (calendar.Occurrence, bool) {
	o, ok := a.Calendar.AtOrBefore(now)
	if ok && a.DueAt(o.Start).After(now) {
		return a.Before(o)
	}
	return o, ok
}

// Before returns the occurrence before another one.
func (a *App) Before(o calendar.Occurrence) (calendar.Occurrence, bool) {
	return a.Calendar.AtOrBefore(o.Start.Add(-time.Nanosecond))
}
