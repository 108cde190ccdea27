package calendar

import (
	"strings"
	"time"

	cron "github.com/netresearch/go-cron"

	"github.com/treadle-run/treadle/proto"
)

// The parser of cron is a fork of robfig/cron that is kept and can go backwards. Of
// it only the fields and their Next and Prev on times without a zone are used: its
// own rules for zones, in which a time inside of a gap is lost and what comes twice
// depends on how it is asked for, are not ours.
const cronFields = cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor

// searchYears is how far apart two times of a cron may be: 40 years are between two
// Sundays that are the last day of a February in a leap year, when no leap year is
// left out.
const searchYears = 100

// calendarPeriods are the periods that have names, the finest first.
var calendarPeriods = []calendarPeriod{
	{"minutely", "* * * * *", time.Minute},
	{"hourly", "0 * * * *", time.Hour},
	{"daily", "0 0 * * *", day},
	{"weekly", "0 0 * * 1", 7 * day},
	{"monthly", "0 0 1 * *", 28 * day},
	{"yearly", "0 0 1 1 *", 365 * day},
}

const day = 24 * time.Hour

type calendarPeriod struct {
	name, cron string
	shortest   time.Duration
}

const periodHint = ": write minutely, hourly, daily, weekly, monthly, yearly or a duration such as 90s"

// Periods returns the names of the calendar periods, the finest first.
func Periods() []string {
	names := make([]string, len(calendarPeriods))
	for i, p := range calendarPeriods {
		names[i] = p.name
	}
	return names
}

// IsPeriod reports whether a calendar period has that name.
func IsPeriod(name string) bool { return findPeriod(name) != nil }

func findPeriod(name string) *calendarPeriod {
	for i := range calendarPeriods {
		if calendarPeriods[i].name == name {
			return &calendarPeriods[i]
		}
	}
	return nil
}

func newStarts(app proto.App, zone *time.Location) (rule, error) {
	p := findPeriod(app.Starts)
	if p == nil {
		return nil, &FieldError{Field: "starts", Message: "is " + quote(app.Starts) + ", which is none of " + strings.Join(Periods(), ", ")}
	}
	s, err := parseCron(p.cron)
	if err != nil {
		return nil, err
	}
	w, err := newWall(s, app, zone)
	if err != nil {
		return nil, err
	}
	w.least = p.shortest
	return w, nil
}

func newCron(app proto.App, zone *time.Location) (rule, error) {
	expr := strings.TrimSpace(app.Cron)
	if every, ok := strings.CutPrefix(expr, "@every "); ok {
		return cronEvery(app, strings.TrimSpace(every))
	}
	s, err := parseCron(expr)
	if err != nil {
		return nil, err
	}
	if s.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, &FieldError{Field: "cron", Never: true, Message: "is " + quote(app.Cron) + ", a time that never comes"}
	}
	return newWall(s, app, zone)
}

// cronEvery is the grid of `@every 90s`, which knows no zone.
func cronEvery(app proto.App, length string) (rule, error) {
	d, err := time.ParseDuration(length)
	if err != nil {
		return nil, &FieldError{Field: "cron", Message: "has " + quote(length) + " after @every, which is not a duration such as 90s"}
	}
	switch message := "has no effect with @every, which knows no zone"; {
	case app.Gap != "":
		return nil, &FieldError{Field: "gap", Message: message}
	case app.Fold != "":
		return nil, &FieldError{Field: "fold", Message: message}
	}
	return newGrid("cron", d)
}

// parseCron parses five fields or a descriptor. Of the days of the month and those of
// the week either fits if both are given, as cron always had it: a field that starts
// with * or ? is not given.
func parseCron(expr string) (*cron.SpecSchedule, error) {
	bad := func(message string) error {
		return &FieldError{Field: "cron", Message: "is " + quote(expr) + ": " + message}
	}
	if strings.HasPrefix(expr, "TZ=") || strings.HasPrefix(expr, "CRON_TZ=") {
		return nil, bad("give the time zone in `timezone`")
	}
	plain, options := strings.ToLower(expr), cronFields
	if !strings.HasPrefix(expr, "@") {
		f := strings.Fields(expr)
		if len(f) != len(fields) {
			return nil, bad("cron has five fields: minute, hour, day of month, month, day of week")
		}
		if given(f[dayOfMonth]) && given(f[dayOfWeek]) {
			options |= cron.DowOrDom
		}
		for i := range fields {
			text, err := fields[i].expand(f[i])
			if err != nil {
				return nil, bad(err.Error())
			}
			f[i] = text
		}
		plain = strings.Join(f, " ")
	}
	parsed, err := cron.MustNewParser(options).WithMaxSearchYears(searchYears).Parse(plain)
	s, ok := parsed.(*cron.SpecSchedule)
	if err != nil || !ok {
		return nil, bad("cron has five fields, or is one of @yearly, @monthly, @weekly, @daily, @hourly and @every with a duration")
	}
	return s, nil
}

func given(field string) bool { return !strings.HasPrefix(field, "*") && field != "?" }

// sampleShortest returns the least time between two of the next hundreds of a cron.
func sampleShortest(s *cron.SpecSchedule) time.Duration {
	const samples = 200
	least := searchYears * 365 * day
	t := s.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	for range samples {
		u := s.Next(t)
		if u.IsZero() {
			break
		}
		least = min(least, u.Sub(t))
		t = u
	}
	return least
}
