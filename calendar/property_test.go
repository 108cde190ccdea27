package calendar

import (
	"testing"
	"time"

	cron "github.com/netresearch/go-cron"
	"pgregory.net/rapid"

	"github.com/treadle-run/treadle/proto"
)

// oddZones change their clocks in unusual ways, or never.
var oddZones = []string{
	"", "America/New_York", "US/Pacific", "Europe/Brussels", "Australia/Lord_Howe", "Asia/Tokyo", "Africa/Cairo",
	"Pacific/Apia", "America/St_Johns", "Asia/Kathmandu", "Africa/Casablanca", "Antarctica/Troll", "America/Sao_Paulo",
}

func drawApp(t *rapid.T) proto.App {
	app := proto.App{Timezone: rapid.SampledFrom(oddZones).Draw(t, "zone")}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		app.Every = proto.Duration(rapid.Int64Range(1000, 100_000_000).Draw(t, "every") * int64(time.Millisecond))
		return app
	case 1:
		app.Starts = rapid.SampledFrom(Periods()).Draw(t, "starts")
	default:
		field := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
		app.Cron = field("minute", "0", "30", "*", "*/7", "59", "1,2,31") + " " + field("hour", "*", "0", "2", "1-3", "*/2", "23") + " " +
			field("dom", "*", "1", "31", "29", "*/2", "30,31") + " " + field("month", "*", "2", "3,4,10,11", "*/3", "12") + " " +
			field("dow", "*", "0", "mon-fri", "7", "*/3")
	}
	app.Gap = rapid.SampledFrom([]string{"", GapAfter, GapSkip}).Draw(t, "gap")
	app.Fold = rapid.SampledFrom([]string{"", FoldFirst, FoldSecond, FoldBoth}).Draw(t, "fold")
	return app
}

// drawTime draws a time, mostly near a change of the clock.
func drawTime(t *rapid.T, zone *time.Location) time.Time {
	at := time.Unix(rapid.Int64Range(0, 3_000_000_000).Draw(t, "at"), rapid.SampledFrom([]int64{0, 0, 1, 999_999_999}).Draw(t, "nanos"))
	if s := segmentAt(at, zone); !s.end.IsZero() && rapid.Bool().Draw(t, "near a change") {
		at = s.end.Add(time.Duration(rapid.Int64Range(-150, 150).Draw(t, "minutes")) * time.Minute)
	}
	return at
}

// Whatever the calendar: what comes next is strictly later, what was last is found
// again, nothing lies between two in a row, and names are never equal.
func TestCalendarIsAnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		app := drawApp(t)
		c, err := New(app)
		if err != nil {
			return // a time that never comes
		}
		from := drawTime(t, c.Location())
		if o, ok := c.AtOrBefore(from); ok && (o.Start.After(from) || !o.End.After(from)) {
			t.Fatalf("%+v: at %v the period is from %v to %v", app, from, o.Start, o.End)
		}
		names := map[string]bool{}
		after := from
		const steps = 12
		for range steps {
			o, ok := c.Next(after)
			if !ok {
				t.Fatalf("%+v: nothing after %v", app, after)
			}
			if !o.Start.After(after) || !o.End.After(o.Start) {
				t.Fatalf("%+v: after %v comes %v, which ends at %v", app, after, o.Start, o.End)
			}
			between := o.Start.Add(-1)
			if before, ok := c.AtOrBefore(between); ok && before.Start.After(after) {
				t.Fatalf("%+v: Next(%v) is %v, but %v lies between", app, after, o.Start, before.Start)
			}
			for _, at := range []time.Time{o.Start, o.End.Add(-1)} {
				if same, ok := c.AtOrBefore(at); !ok || same != o {
					t.Fatalf("%+v: AtOrBefore(%v) is %+v, want %+v", app, at, same, o)
				}
			}
			name := c.Name(o.Start, "a")
			if names[name] {
				t.Fatalf("%+v: the name %s comes twice", app, name)
			}
			names[name] = true
			after = o.Start
		}
		if n := c.Count(from.Add(1), after, 100); n != steps-1 {
			t.Fatalf("%+v: Count from %v to %v is %d, stepping gives %d", app, from, after, n, steps-1)
		}
		if n := c.Count(from, after, 3); n != 3 {
			t.Fatalf("%+v: Count that stops at 3 is %d", app, n)
		}
	})
}

// The calendar agrees with a look at each quarter of an hour: does the clock show a time of the
// cron?
func TestCronAgreesWithTheClockOnTheWall(t *testing.T) {
	t.Parallel()
	for _, zone := range oddZones {
		for _, expr := range []string{"*/15 1-3 * * *", "0 0 * * *", "30 2 * * 0", "30 0-2 * * 6,0", "15 * 29 * 1"} {
			c := mustNew(t, proto.App{Cron: expr, Timezone: zone, Gap: GapSkip, Fold: FoldBoth})
			s, err := parseCron(expr)
			if err != nil {
				t.Fatal(err)
			}
			for at := time.Date(2010, 12, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2013; {
				x := segmentAt(at, c.Location())
				if x.end.IsZero() {
					break
				}
				at = x.end
				agree(t, c, s, at.AddDate(0, 0, -2), at.AddDate(0, 0, 9))
			}
		}
	}
}

func agree(t *testing.T, c *Calendar, s *cron.SpecSchedule, from, to time.Time) {
	t.Helper()
	last := from.Add(-1)
	for at := from; at.Before(to); at = at.Add(15 * time.Minute) {
		x := at.In(c.Location())
		clock := time.Date(x.Year(), x.Month(), x.Day(), x.Hour(), x.Minute(), x.Second(), 0, time.UTC)
		if !s.Next(clock.Add(-1)).Equal(clock) {
			continue
		}
		o, _ := c.Next(last)
		if !o.Start.Equal(at) {
			t.Fatalf("%s: after %v comes %v, want %v", c.Location(), last, o.Start, at)
		}
		last = at
	}
}

// The parser goes back as it goes ahead.
func TestCronGoesBackAsAhead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		app := drawApp(t)
		if app.Cron == "" {
			return
		}
		s, err := parseCron(app.Cron)
		if err != nil {
			t.Fatal(err)
		}
		at := drawTime(t, time.UTC).UTC()
		next := s.Next(at)
		if next.IsZero() {
			return
		}
		if prev := s.Prev(next); !prev.IsZero() && prev.After(at) {
			t.Fatalf("%s: between %v and %v lies %v", app.Cron, at, next, prev)
		}
		if after := s.Next(next); !after.IsZero() && !s.Prev(after).Equal(next) {
			t.Fatalf("%s: before %v comes %v, want %v", app.Cron, after, s.Prev(after), next)
		}
	})
}
