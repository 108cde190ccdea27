package plan

import (
	"strings"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
)

// maxRunPeriods is how many periods one call runs.
const maxRunPeriods = 1000

// Asked returns the periods that a call asks for, oldest first.
func (a *App) Asked(r proto.RunPeriods, now time.Time) ([]calendar.Occurrence, error) {
	if (r.Period == "") == (r.From == "" || r.To == "") || r.Period != "" && (r.From != "" || r.To != "") {
		return nil, proto.Errorf(proto.CodeInvalid, "expected `period`, or `from` and `to`")
	}
	if r.Period != "" {
		o, err := a.parsePeriod("period", r.Period, now)
		return []calendar.Occurrence{o}, err
	}
	from, err := a.parsePeriod("from", r.From, now)
	if err != nil {
		return nil, err
	}
	to, err := a.parseTime("to", r.To, now)
	if err != nil {
		return nil, err
	}
	if end := now.Add(1); to.After(end) {
		to = end // a period that has not started is not made
	}
	if !from.Start.Before(to) {
		return nil, proto.Errorf(proto.CodeInvalid, "no period starts from `from` on, before `to`, that has started")
	}
	if a.Calendar.Count(from.Start, to, maxRunPeriods+1) > maxRunPeriods {
		return nil, proto.Errorf(proto.CodeInvalid, "these are more than %d periods: run them in parts", maxRunPeriods)
	}
	var out []calendar.Occurrence
	for o, ok := from, true; ok && o.Start.Before(to); o, ok = a.Calendar.Next(o.Start) {
		out = append(out, o)
	}
	return out, nil
}

// parsePeriod finds the period by a time in it, or by its name.
func (a *App) parsePeriod(field, s string, now time.Time) (calendar.Occurrence, error) {
	t, err := a.parseTime(field, s, now)
	if err != nil {
		return calendar.Occurrence{}, err
	}
	o, ok := a.Calendar.AtOrBefore(t)
	if !ok {
		return o, proto.Errorf(proto.CodeInvalid, "`%s`: no period of app %s had started at %s", field, a.Def.Name, s)
	}
	return o, nil
}

// parseTime reads a time, an age, or the name of an instance: then it is the start of
// its period. Times without an offset are in the zone of the app.
func (a *App) parseTime(field, s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC(), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, a.Calendar.Location()); err == nil {
			return t.UTC(), nil
		}
	}
	if age, err := proto.ParseAge(s); err == nil {
		return now.Add(-age), nil
	}
	clock, isName := strings.CutSuffix(s, "-"+a.Def.Name)
	if !isName {
		clock = s
	}
	for _, layout := range []string{"2006-01-02-1504", "2006-01-02-150405", "2006-01-02-150405.000"} {
		if len(clock) < len(layout) {
			continue
		}
		// An offset may follow: the whole name is compared below.
		t, err := time.ParseInLocation(layout, clock[:len(layout)], a.Calendar.Location())
		if err != nil {
			continue
		}
		// Of a clock time that comes twice, the second one may be meant.
		for _, shift := range []time.Duration{0, time.Hour, -time.Hour, 30 * time.Minute, -30 * time.Minute} {
			o, ok := a.Calendar.AtOrBefore(t.Add(shift))
			if ok && a.Calendar.Name(o.Start, a.Def.Name) == clock+"-"+a.Def.Name {
				return o.Start, nil
			}
		}
	}
	return time.Time{}, a.errPeriod(field, s)
}

func (a *App) errPeriod(field, s string) error {
	return proto.Errorf(proto.CodeInvalid, "`%s`: %q is neither a time such as 2026-03-01T13:00:00Z or 2026-03-01, nor an age such as 2h or 7d, nor the name of a period of app %s such as 2026-03-01-1300-%s",
		field, s, a.Def.Name, a.Def.Name)
}
