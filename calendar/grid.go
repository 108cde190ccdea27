package calendar

import (
	"time"
)

// grid is the instants that are multiples of a length of time away from the Unix
// epoch. No zone moves them.
type grid int64 // microseconds

// MinEvery is the shortest time between two starts of an app.
const MinEvery = time.Second

func newGrid(field string, d time.Duration) (rule, error) {
	switch {
	case d < 0:
		return nil, &FieldError{Field: field, Message: "is negative: " + d.String()}
	case d < MinEvery:
		return nil, &FieldError{Field: field, Message: "must be at least " + MinEvery.String() + ", not " + d.String()}
	case d%time.Millisecond != 0:
		return nil, &FieldError{Field: field, Message: "must be whole milliseconds, not " + d.String()}
	}
	return grid(d / time.Microsecond), nil
}

// index returns the number of the last point of the grid at t or before.
func (g grid) index(t time.Time) int64 {
	at, step := t.UnixMicro(), int64(g)
	n := at / step
	if at%step < 0 {
		n--
	}
	return n
}

func (g grid) at(index int64) time.Time { return time.UnixMicro(index * int64(g)).UTC() }

func (g grid) next(t time.Time) (time.Time, bool) { return g.at(g.index(t) + 1), true }

func (g grid) atOrBefore(t time.Time) (time.Time, bool) { return g.at(g.index(t)), true }

func (g grid) why(time.Time) string { return "" }

func (g grid) shortest() time.Duration { return time.Duration(g) * time.Microsecond }

func (g grid) count(from, to time.Time, limit int) int {
	if !from.Before(to) {
		return 0
	}
	n := g.index(to.Add(-1)) - g.index(from.Add(-1))
	return int(min(n, int64(limit)))
}
