package calendar

import (
	"time"

	cron "github.com/netresearch/go-cron"

	"github.com/treadle-run/treadle/proto"
)

// What becomes of a wall-clock time that the zone skips (proto.App.Gap).
const (
	GapAfter = "after" // right after the gap; the default
	GapSkip  = "skip"  // not at all
)

// When a wall-clock time that comes twice is meant (proto.App.Fold).
const (
	FoldFirst  = "first" // the default
	FoldSecond = "second"
	FoldBoth   = "both" // the default of a cron that names no hours
)

// wall is the instants at which the clock on the wall shows a time of a cron.
//
// The time line of a zone is cut into segments in which the clock has one offset.
// Within a segment, instants and wall-clock times (a time.Time in UTC that shows what
// the clock shows) differ by the offset alone, so that order is kept. Where two
// segments meet, the clock jumps ahead, over a gap of wall-clock times that no
// segment has, or back, so that both segments have those of a fold. Going from segment
// to segment gives instants in order, each once, whatever the zone does.
type wall struct {
	cron *cron.SpecSchedule
	zone *time.Location
	gap  string
	fold string
	// least is the shortest of a calendar period; 0 for a cron, of which it is not
	// known before it is asked for.
	least time.Duration
}

func newWall(s *cron.SpecSchedule, app proto.App, zone *time.Location) (*wall, error) {
	w := &wall{cron: s, zone: zone, gap: app.Gap, fold: app.Fold}
	switch w.gap {
	case "":
		w.gap = GapAfter
	case GapAfter, GapSkip:
	default:
		return nil, &FieldError{Field: "gap", Message: "is " + quote(w.gap) + ", which is neither after nor skip"}
	}
	switch w.fold {
	case "":
		w.fold = FoldFirst
		const allHours = 1<<24 - 1
		if s.Hour&allHours == allHours {
			w.fold = FoldBoth // it means every hour, not the hours of a clock
		}
	case FoldFirst, FoldSecond, FoldBoth:
	default:
		return nil, &FieldError{Field: "fold", Message: "is " + quote(w.fold) + ", which is none of first, second, both"}
	}
	return w, nil
}

// clockFrom returns the first time of the cron that is not before c; zero if there is
// none.
func (w *wall) clockFrom(c time.Time) time.Time { return w.cron.Next(c.Add(-1)) }

// clockTo returns the last time of the cron that is not after c. The parser takes
// whole seconds as the end.
func (w *wall) clockTo(c time.Time) time.Time {
	return w.cron.Prev(c.Truncate(time.Second).Add(time.Second))
}

// farAway is longer than any shift of a clock. When the time of the cron that is next
// and the change of the clock that is next are both so far away, no change on the way
// there can matter, and there is no need to look at each.
const farAway = 72 * time.Hour

func (w *wall) next(t time.Time) (time.Time, bool) {
	s := segmentAt(t, w.zone)
	from := t.UTC().Add(1)
	for {
		c := w.clockFrom(s.clock(from))
		if c.IsZero() {
			return time.Time{}, false
		}
		mayJump := !s.end.IsZero() && s.end.Sub(from) > farAway
		for ; !c.IsZero() && (s.end.IsZero() || s.instant(c).Before(s.end)); c = w.cron.Next(c) {
			if w.meant(c, s) {
				return s.instant(c), true
			}
			mayJump = false // the other time that the clock shows c may be next
		}
		if c.IsZero() || s.end.IsZero() {
			return time.Time{}, false
		}
		if far := s.instant(c).Add(-farAway); mayJump && far.After(s.end) {
			s, from = segmentAt(far, w.zone), far
			continue
		}
		s = s.after(w.zone)
		if from = s.start.UTC(); w.gapEndsAt(s) {
			return from, true
		}
	}
}

func (w *wall) atOrBefore(t time.Time) (time.Time, bool) {
	s := segmentAt(t, w.zone)
	to := t.UTC()
	for {
		c := w.clockTo(s.clock(to))
		mayJump := !s.start.IsZero() && to.Sub(s.start) > farAway
		for ; !c.IsZero() && (s.start.IsZero() || !s.instant(c).Before(s.start)); c = w.cron.Prev(c) {
			if w.meant(c, s) {
				return s.instant(c), true
			}
			mayJump = false
		}
		if c.IsZero() || s.start.IsZero() {
			return time.Time{}, false
		}
		if w.gapEndsAt(s) {
			return s.start.UTC(), true
		}
		before := s.start.UTC().Add(-1)
		if far := s.instant(c).Add(farAway); mayJump && far.Before(before) {
			before = far
		}
		to, s = before, segmentAt(before, w.zone)
	}
}

// meant reports whether the segment is where a time of the cron counts, if the clock
// shows it in two.
func (w *wall) meant(c time.Time, s segment) bool {
	switch w.fold {
	case FoldFirst:
		return !w.shownBefore(c, s)
	case FoldSecond:
		return !w.shownAfter(c, s)
	}
	return true
}

// shownBefore reports whether the clock showed c in the segment before s too.
func (w *wall) shownBefore(c time.Time, s segment) bool {
	if s.start.IsZero() || s.instant(c).Sub(s.start) > farAway {
		return false
	}
	return s.before(w.zone).instant(c).Before(s.start)
}

// shownAfter reports whether the clock will show c in the segment after s too.
func (w *wall) shownAfter(c time.Time, s segment) bool {
	if s.end.IsZero() || s.end.Sub(s.instant(c)) > farAway {
		return false
	}
	return !s.after(w.zone).instant(c).Before(s.end)
}

// gapEndsAt reports whether a time of the cron that the clock skips before s counts
// at the start of s.
func (w *wall) gapEndsAt(s segment) bool {
	return w.gap == GapAfter && !w.skipped(s).IsZero()
}

// skipped returns the first time of the cron that the clock skips where s starts; zero
// if there is none.
func (w *wall) skipped(s segment) time.Time {
	if s.start.IsZero() {
		return time.Time{}
	}
	first := s.before(w.zone).clock(s.start)
	if c := w.clockFrom(first); c.Before(s.clock(s.start)) {
		return c
	}
	return time.Time{}
}

func (w *wall) why(t time.Time) string {
	s := segmentAt(t, w.zone)
	c := s.clock(t)
	switch {
	case w.shownBefore(c, s):
		return c.Format("15:04") + " comes twice on this day: the second"
	case w.shownAfter(c, s):
		return c.Format("15:04") + " comes twice on this day: the first"
	case s.start.IsZero():
		return ""
	case t.Equal(s.start) && !w.clockFrom(c).Equal(c):
		return w.skipped(s).Format("15:04") + " does not exist on this day: right after the gap"
	case w.gap == GapSkip:
		before := w.cron.Prev(c)
		if missing := w.skipped(s); !missing.IsZero() && before.Before(s.clock(s.start)) {
			return missing.Format("15:04 of 2006-01-02") + " does not exist: skipped"
		}
	}
	return ""
}

func (w *wall) shortest() time.Duration {
	if w.least != 0 {
		return w.least
	}
	return sampleShortest(w.cron)
}
