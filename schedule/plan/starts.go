package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
)

// Starts tells which periods of apps are expected. An app that starts by time expects each
// of its occurrences. An app that depends on others expects the periods in which one of
// these has something to do: an app that depends on work of weekdays has nothing to wait
// for on Saturdays.
type Starts struct {
	Apps map[string]*App // an app, and all above it
	// all counts also what was before the apps were there.
	all bool
	// known are answers of Next and Last: many ways may lead up to one app.
	known map[startsKey]startsAnswer
	depth int // of the calls that are under way
}

type startsKey struct {
	app     string
	at      int64
	forward bool
}

type startsAnswer struct {
	o  calendar.Occurrence
	ok bool
}

const (
	// MaxExpected is how many periods of an app are counted: of one upstream app, one
	// period may need so many. A year of minutes is below.
	MaxExpected = 1_000_000
	// maxKnown bounds the answers that are kept.
	maxKnown = 10_000
	// maxDepth is how far up apps are followed, so that this ends in a cycle, too.
	maxDepth = 200
)

// once returns the answer of find, and calls that once for each question.
func (s *Starts) once(app *App, t time.Time, forward bool, find func() (calendar.Occurrence, bool)) (calendar.Occurrence, bool) {
	key := startsKey{app.Def.Name, t.UnixNano(), forward}
	if a, ok := s.known[key]; ok {
		return a.o, a.ok
	}
	if s.depth >= maxDepth {
		return calendar.Occurrence{}, false
	}
	s.depth++
	o, ok := find()
	s.depth--
	if s.known == nil || len(s.known) >= maxKnown {
		s.known = map[startsKey]startsAnswer{}
	}
	s.known[key] = startsAnswer{o, ok}
	return o, ok
}

// Everything is the same without regard to when the apps came.
func (s *Starts) Everything() *Starts { return &Starts{Apps: s.Apps, all: true} }

// Next returns the first period of an app that is expected and starts at t or later.
func (s *Starts) Next(a *App, t time.Time) (calendar.Occurrence, bool) {
	if !s.all && a.Since.After(t) {
		t = a.Since
	}
	o, ok := a.Calendar.Next(t.Add(-time.Nanosecond))
	if !ok || a.Recurring() {
		return o, ok
	}
	return s.once(a, o.Start, true, func() (calendar.Occurrence, bool) {
		var first time.Time
		for name := range a.Def.Depends {
			up := s.Apps[name]
			if up == nil {
				continue
			}
			if u, ok := s.Next(up, o.Start); ok && (first.IsZero() || u.Start.Before(first)) {
				first = u.Start
			}
		}
		if first.IsZero() {
			return o, false
		}
		return a.Calendar.AtOrBefore(first)
	})
}

// Last returns the last period of an app that is expected and starts before t.
func (s *Starts) Last(a *App, t time.Time) (calendar.Occurrence, bool) {
	o, ok := a.Calendar.AtOrBefore(t.Add(-time.Nanosecond))
	if ok && !a.Recurring() {
		o, ok = s.once(a, o.End, false, func() (calendar.Occurrence, bool) {
			var last time.Time
			for name := range a.Def.Depends {
				up := s.Apps[name]
				if up == nil {
					continue
				}
				if u, ok := s.Last(up, o.End); ok && u.Start.After(last) {
					last = u.Start
				}
			}
			if last.IsZero() {
				return o, false
			}
			return a.Calendar.AtOrBefore(last)
		})
	}
	return o, ok && (s.all || !o.Start.Before(a.Since))
}

// Between returns the first and the last expected period of an app that start in
// [from, to); false if there is none.
func (s *Starts) Between(a *App, from, to time.Time) (first, last calendar.Occurrence, ok bool) {
	if last, ok = s.Last(a, to); !ok || last.Start.Before(from) {
		return first, last, false
	}
	first, ok = s.Next(a, from)
	return first, last, ok && !first.Start.After(last.Start)
}

// Count returns how many expected periods of an app start in [from, to), at most
// MaxExpected.
func (s *Starts) Count(a *App, from, to time.Time) int {
	first, last, ok := s.Between(a, from, to)
	if !ok {
		return 0
	}
	if a.Recurring() {
		return a.Calendar.Count(first.Start, last.Start.Add(1), MaxExpected)
	}
	n := 0
	for o := first; ok && n < MaxExpected && !o.Start.After(last.Start); o, ok = s.Next(a, o.End) {
		n++
	}
	return n
}

// NothingIn says that a period of an app is not expected, since none of its upstream
// apps has a start in it; "" if one has.
func (s *Starts) NothingIn(a *App, o calendar.Occurrence) string {
	if a.Recurring() {
		return ""
	}
	for name := range a.Def.Depends {
		up := s.Apps[name]
		if up == nil {
			return "" // what it does is not known
		}
		if _, _, ok := s.Between(up, o.Start, o.End); ok {
			return ""
		}
	}
	return "nothing to wait for: no start of " + strings.Join(slices.Sorted(maps.Keys(a.Def.Depends)), ", ") + " in it"
}

// Missing returns which of the named apps are not there.
func (s *Starts) Missing(app proto.App) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(app.Depends)) {
		if s.Apps[name] == nil {
			out = append(out, name)
		}
	}
	return out
}
