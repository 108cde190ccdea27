package calendar

import "time"

// segment is a stretch of time in which the clock of a zone has one offset. A zero
// start or end is that there is none.
type segment struct {
	start, end time.Time
	offset     time.Duration
}

// mostMerged bounds how many stretches of one offset segmentAt joins: there are a few
// where a zone changed its name alone, or where a year ends.
const mostMerged = 50

func segmentAt(t time.Time, zone *time.Location) segment {
	s := rawSegment(t, zone)
	for range mostMerged {
		if s.start.IsZero() {
			break
		}
		x := rawSegment(s.start.Add(-1), zone)
		if x.offset != s.offset {
			break
		}
		s.start = x.start
	}
	for range mostMerged {
		if s.end.IsZero() {
			break
		}
		x := rawSegment(s.end, zone)
		if x.offset != s.offset {
			break
		}
		s.end = x.end
	}
	return s
}

// rawSegment returns what the time package knows. It may end where a year does, though
// the offset goes on; and the end of a leap year is said to come a day early.
func rawSegment(t time.Time, zone *time.Location) segment {
	t = t.In(zone)
	start, end := t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		end = end.Add(day)
	}
	_, offset := t.Zone()
	return segment{start: start, end: end, offset: time.Duration(offset) * time.Second}
}

// before returns the segment that ends where s starts.
func (s segment) before(zone *time.Location) segment { return segmentAt(s.start.Add(-1), zone) }

// after returns the segment that starts where s ends.
func (s segment) after(zone *time.Location) segment { return segmentAt(s.end, zone) }

// clock returns what the clock of the segment shows at t.
func (s segment) clock(t time.Time) time.Time { return t.UTC().Add(s.offset) }

// instant returns when the clock of the segment shows c.
func (s segment) instant(c time.Time) time.Time { return c.Add(-s.offset) }
