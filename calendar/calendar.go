// Package calendar says when apps start: it turns the `every`, `cron`, `starts` or
// period of an app into instants, over zone changes too, and names them.
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
}

// Occurrence is one time at which an app starts, with the period that it begins.
type Occurrence struct {
	Start, End time.Time // End is the start of the next occurrence
	// Why says what is unusual about the start; "" for an ordinary one.
	Why string
}

// FieldError says which field of an app makes no calendar.
type FieldError struct {
	Field   string // as in JSON: "cron"
	Never   bool   // the cron is well formed and has no time at all
	Message string
}

// Error returns the field and the message.
func (e *FieldError) Error() string { return "`" + e.Field + "` " + e.Message }

// New returns the calendar of an app with `every`, `cron` or `starts`. The error is
// a *FieldError.
func New(app proto.App) (*Calendar, error) { return nil, &FieldError{Field: "every"} }

// NewPeriod returns the calendar of the periods that an app with `depends` has: the
// name of a calendar period, or a duration. The error is a *FieldError.
func NewPeriod(period, timezone string) (*Calendar, error) {
	return nil, &FieldError{Field: "depends"}
}

// Next returns the first occurrence later than after, and false if there is none.
func (c *Calendar) Next(after time.Time) (Occurrence, bool) { return Occurrence{}, false }

// AtOrBefore returns the last occurrence that starts at t or earlier, and false if
// there is none.
func (c *Calendar) AtOrBefore(t time.Time) (Occurrence, bool) { return Occurrence{}, false }

// Count returns how many occurrences start in [from, to). It stops at most.
func (c *Calendar) Count(from, to time.Time, most int) int { return 0 }

// Name returns the name of the instance of the app whose period starts at start, such
// as 2011-01-02-1300-counter.
func (c *Calendar) Name(start time.Time, app string) string { return "" }

// Jitter returns by how much the start of an instance is put off: less than
// app.Jitter, and always the same for the same app and start.
func (c *Calendar) Jitter(app proto.App, start time.Time) time.Duration { return 0 }

// Location returns the zone in which the calendar counts.
func (c *Calendar) Location() *time.Location { return c.zone }
