package engine

import (
	"context"
	"strings"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// maxRunPeriods is how many periods one call runs.
const maxRunPeriods = 1000

// RunPeriods makes instances of periods that have begun: of those that never ran, or
// failed, or of all again.
func (e *Engine) RunPeriods(ctx context.Context, name string, r proto.RunPeriods) (proto.RunPeriodsAnswer, error) {
	var answer proto.RunPeriodsAnswer
	row, err := e.store.App(ctx, name)
	if err != nil {
		return answer, storeError(err, name)
	}
	job, err := compile(row)
	if err != nil {
		return answer, err
	}
	now, err := e.store.Now(ctx)
	if err != nil {
		return answer, storeError(err, name)
	}
	list, err := job.asked(r, now)
	if err != nil {
		return answer, err
	}
	answer.Periods = make([]proto.RunPeriod, len(list))
	var make []store.NewInstance
	var places []int
	for i, o := range list {
		answer.Periods[i] = proto.RunPeriod{Name: job.cal.Name(o.Start, name), Start: o.Start}
		why, err := e.notYet(ctx, job, o, r.Force, now)
		if err != nil {
			return answer, storeError(err, name)
		}
		if why != "" {
			answer.Periods[i].Why = why
			continue
		}
		n, err := e.extra(ctx, job, o)
		if err != nil {
			return answer, storeError(err, name)
		}
		n.FetchAt, n.Due, n.Reason = time.Time{}, now, "" // it was asked for now
		make, places = append(make, *n), append(places, i)
	}
	if len(make) == 0 {
		return answer, nil
	}
	results, err := e.store.ExtraInstances(ctx, name, make, r.Again)
	if err != nil {
		return answer, storeError(err, name)
	}
	for i, res := range results {
		answer.Periods[places[i]].Made, answer.Periods[places[i]].Why = res.Made, res.Why
	}
	wait.Nudge(e.fetchWake)
	return answer, nil
}

// notYet says why a period cannot run yet; "" if it can.
func (e *Engine) notYet(ctx context.Context, j *Job, o calendar.Occurrence, force bool, now time.Time) (string, error) {
	if o.Start.After(now) {
		return "it has not begun", nil
	}
	if j.recurring() || force {
		return "", nil
	}
	ok, err := e.complete(ctx, j, o)
	if err != nil || ok {
		return "", err
	}
	return "upstream apps have not succeeded for it: see what is blocked, or force it", nil
}

// asked returns the periods that are asked for, oldest first.
func (j *Job) asked(r proto.RunPeriods, now time.Time) ([]calendar.Occurrence, error) {
	if (r.Period == "") == (r.From == "" || r.To == "") || r.Period != "" && (r.From != "" || r.To != "") {
		return nil, proto.Errorf(proto.CodeInvalid, "expected `period`, or `from` and `to`")
	}
	if r.Period != "" {
		o, err := j.parsePeriod("period", r.Period, now)
		return []calendar.Occurrence{o}, err
	}
	from, err := j.parsePeriod("from", r.From, now)
	if err != nil {
		return nil, err
	}
	to, err := j.parseTime("to", r.To, now)
	if err != nil {
		return nil, err
	}
	if end := now.Add(1); to.After(end) {
		to = end // what has not begun is not made
	}
	if !from.Start.Before(to) {
		return nil, proto.Errorf(proto.CodeInvalid, "no period starts from `from` on, before `to`, that has begun")
	}
	if j.cal.Count(from.Start, to, maxRunPeriods+1) > maxRunPeriods {
		return nil, proto.Errorf(proto.CodeInvalid, "these are more than %d periods: run them in parts", maxRunPeriods)
	}
	var out []calendar.Occurrence
	for o, ok := from, true; ok && o.Start.Before(to); o, ok = j.cal.Next(o.Start) {
		out = append(out, o)
	}
	return out, nil
}

// parsePeriod finds the period that a time is in, or that a name names.
func (j *Job) parsePeriod(field, s string, now time.Time) (calendar.Occurrence, error) {
	t, err := j.parseTime(field, s, now)
	if err != nil {
		return calendar.Occurrence{}, err
	}
	o, ok := j.cal.AtOrBefore(t)
	if !ok {
		return o, proto.Errorf(proto.CodeInvalid, "`%s`: no period of app %s has begun at %s", field, j.App.Name, s)
	}
	return o, nil
}

// parseTime reads a time, an age, or the name of an instance: then it is the start of
// its period. Times without an offset are in the zone of the app.
func (j *Job) parseTime(field, s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC(), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, j.cal.Location()); err == nil {
			return t.UTC(), nil
		}
	}
	if age, err := proto.ParseAge(s); err == nil {
		return now.Add(-age), nil
	}
	clock, isName := strings.CutSuffix(s, "-"+j.App.Name)
	if !isName {
		clock = s
	}
	for _, layout := range []string{"2006-01-02-1504", "2006-01-02-150405", "2006-01-02-150405.000"} {
		if len(clock) < len(layout) {
			continue
		}
		// Behind it may be an offset, which the name is compared with.
		t, err := time.ParseInLocation(layout, clock[:len(layout)], j.cal.Location())
		if err != nil {
			continue
		}
		// A time that comes twice may be meant the second time.
		for _, shift := range []time.Duration{0, time.Hour, -time.Hour, 30 * time.Minute, -30 * time.Minute} {
			o, ok := j.cal.AtOrBefore(t.Add(shift))
			if ok && j.cal.Name(o.Start, j.App.Name) == clock+"-"+j.App.Name {
				return o.Start, nil
			}
		}
	}
	return time.Time{}, j.errPeriod(field, s)
}

func (j *Job) errPeriod(field, s string) error {
	return proto.Errorf(proto.CodeInvalid, "`%s`: %q is neither a time such as 2026-03-01T13:00:00Z or 2026-03-01, nor an age such as 2h or 7d, nor the name of a period of app %s such as 2026-03-01-1300-%s",
		field, s, j.App.Name, j.App.Name)
}
