// Package calendar says when apps start: it turns the `every`, `cron` or `starts` of
// an app, or the period of its `depends`, into instants, over changes of the zone's
// clock too, and names them.
//
// It is pure: no database, no network, no clock of its own. It may import proto.
package calendar

import (
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Calendar gives the occurrences of one app. It never changes, and is safe for
// concurrent use.
type Calendar struct {
	zone *time.Location
	rule rule
}

// rule is a strictly increasing set of instants.
type rule interface {
	// next returns the first one later than t, and false if there is none.
	next(t time.Time) (time.Time, bool)
	// atOrBefore returns the last one that is not later than t.
	atOrBefore(t time.Time) (time.Time, bool)
	// why says what is unusual about one of them.
	why(t time.Time) string
	// shortest returns the least time between two of them on days without a change of
	// the clock.
	shortest() time.Duration
}

// Occurrence is one time at which an app starts, with the period that it starts.
type Occurrence struct {
	Start time.Time
	// End is the start of the next occurrence; zero if there is none.
	End time.Time
	// Why says what is unusual about the start; "" for an ordinary one.
	Why string
}

// FieldError says which field of an app makes no calendar.
type FieldError struct {
	Field string // as in JSON, such as "cron"
	// Never says that the field is well formed and no time ever fits it.
	Never   bool
	Message string // what is wrong; it follows the name of the field
}

// Error returns the field and the message.
func (e *FieldError) Error() string { return "`" + e.Field + "` " + e.Message }

// New returns the calendar of an app with `every`, `cron` or `starts`; for one with
// `depends`, that of its periods. The error is a *FieldError.
func New(app proto.App) (*Calendar, error) {
	zone, err := loadZone(app.Timezone)
	if err != nil {
		return nil, err
	}
	c := &Calendar{zone: zone}
	switch {
	case app.Every != 0:
		c.rule, err = newGrid("every", time.Duration(app.Every))
	case app.Cron != "":
		c.rule, err = newCron(app, zone)
	case app.Starts != "":
		c.rule, err = newStarts(app, zone)
	case len(app.Depends) > 0:
		for _, period := range app.Depends {
			return NewPeriod(period, app.Timezone)
		}
	default:
		err = &FieldError{Field: "every", Message: "is missing: one of `every`, `cron`, `starts` and `depends` says when"}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// NewPeriod returns the calendar of the periods of an app with `depends`: period is
// the name of a calendar period, or a duration on the grid of `every`. The error is a
// *FieldError.
func NewPeriod(period, timezone string) (*Calendar, error) {
	zone, err := loadZone(timezone)
	if err != nil {
		return nil, err
	}
	c := &Calendar{zone: zone}
	if IsPeriod(period) {
		c.rule, err = newStarts(proto.App{Starts: period}, zone)
		return c, err
	}
	d, err := time.ParseDuration(period)
	if err != nil {
		return nil, &FieldError{Field: "depends", Message: "has " + quote(period) + ", which is not a period" + periodHint}
	}
	if c.rule, err = newGrid("depends", d); err != nil {
		return nil, err
	}
	return c, nil
}

// No occurrence starts before Earliest or after Latest: RFC 3339 can write all of them
// and their ends, and none is the zero time.
var (
	Earliest = time.Date(1, time.January, 2, 0, 0, 0, 0, time.UTC)
	Latest   = time.Date(9000, time.January, 1, 0, 0, 0, 0, time.UTC)
)

// Next returns the first occurrence later than after, and false if there is none.
func (c *Calendar) Next(after time.Time) (Occurrence, bool) {
	if before := Earliest.Add(-1); after.Before(before) {
		after = before
	}
	if !after.Before(Latest) {
		return Occurrence{}, false
	}
	start, ok := c.rule.next(after)
	if !ok || start.After(Latest) {
		return Occurrence{}, false
	}
	return c.occurrence(start), true
}

// AtOrBefore returns the last occurrence that starts at t or earlier, and false if
// there is none.
func (c *Calendar) AtOrBefore(t time.Time) (Occurrence, bool) {
	if t.After(Latest) {
		t = Latest
	}
	if t.Before(Earliest) {
		return Occurrence{}, false
	}
	start, ok := c.rule.atOrBefore(t)
	if !ok || start.Before(Earliest) {
		return Occurrence{}, false
	}
	return c.occurrence(start), true
}

func (c *Calendar) occurrence(start time.Time) Occurrence {
	end, _ := c.rule.next(start)
	return Occurrence{Start: start, End: end, Why: c.rule.why(start)}
}

// Count returns how many occurrences start in [from, to), up to limit.
func (c *Calendar) Count(from, to time.Time, limit int) int {
	if g, ok := c.rule.(grid); ok {
		return g.count(from, to, limit)
	}
	n := 0
	for t, ok := c.rule.next(from.Add(-1)); ok && t.Before(to) && n < limit; t, ok = c.rule.next(t) {
		n++
	}
	return n
}

// Shortest returns the least time between two occurrences, changes of the clock left
// out of account.
func (c *Calendar) Shortest() time.Duration { return c.rule.shortest() }

// Location returns the zone in which the calendar counts.
func (c *Calendar) Location() *time.Location { return c.zone }
