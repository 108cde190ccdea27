package schedule

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// maxWaits is for how many periods of one answer the upstream apps are looked at.
const maxWaits = 100

// ledger is what is known of the periods of an app.
type ledger struct {
	e   *Engine
	job *Job
	now time.Time
	ups map[string]*Job

	instances  map[int64]proto.Instance // the last run, by start of the period
	skipped    []store.AppEvent
	dependents []string
	looked     int
}

// Periods returns the ledger of an app: the periods that start in [since, until),
// the newest limit (100 if 0, at most 1,000) of them, newest first. A zero until is
// after the next period; a zero since has no bound.
func (e *Engine) Periods(ctx context.Context, name string, since, until time.Time, limit int) ([]proto.Period, error) {
	l, err := e.openLedger(ctx, name)
	if err != nil {
		return nil, storeError(err, name)
	}
	list := l.occurrences(since, until, limited(limit, 100))
	if len(list) == 0 {
		return []proto.Period{}, nil
	}
	if err := l.read(ctx, list[len(list)-1].Start, list[0].Start.Add(time.Microsecond)); err != nil {
		return nil, storeError(err, name)
	}
	out := make([]proto.Period, 0, len(list))
	for _, o := range list {
		p, ok, err := l.period(ctx, o)
		if err != nil {
			return nil, storeError(err, name)
		}
		if ok {
			out = append(out, p)
		}
	}
	return out, nil
}

func (e *Engine) openLedger(ctx context.Context, name string) (*ledger, error) {
	row, err := e.store.App(ctx, name)
	if err != nil {
		return nil, err
	}
	job, err := compile(row)
	if err != nil {
		return nil, err
	}
	l := &ledger{e: e, job: job}
	if l.now, err = e.store.Now(ctx); err != nil {
		return nil, err
	}
	if l.ups, err = e.upstreams(ctx, job); err != nil {
		return nil, err
	}
	dependents, err := e.store.Dependents(ctx, name)
	l.dependents = slices.Sorted(maps.Keys(dependents))
	return l, err
}

// occurrences returns those that start in [since, until), newest first.
func (l *ledger) occurrences(since, until time.Time, limit int) []calendar.Occurrence {
	if until.IsZero() {
		o, ok := l.job.cal.Next(l.now)
		until = l.now
		if ok {
			until = o.Start.Add(1)
		}
	}
	var list []calendar.Occurrence
	o, ok := l.job.cal.AtOrBefore(until.Add(-1))
	for ; ok && len(list) < limit && !o.Start.Before(since); o, ok = l.job.before(o) {
		list = append(list, o)
	}
	return list
}

// read reads what is stored of the periods that start in [from, to).
func (l *ledger) read(ctx context.Context, from, to time.Time) error {
	list, err := l.e.store.PeriodInstances(ctx, l.job.App.Name, from, to, 10*maxList)
	if err != nil {
		return err
	}
	l.instances = make(map[int64]proto.Instance, len(list))
	for _, in := range list {
		if old, ok := l.instances[in.PeriodStart.UnixMicro()]; !ok || in.Number >= old.Number {
			in.Conf, in.Result = nil, nil
			l.instances[in.PeriodStart.UnixMicro()] = in
		}
	}
	l.skipped, err = l.e.store.SkippedIn(ctx, l.job.App.Name, from, to)
	return err
}

// period returns one line; false for a period before the app was there, of which
// nothing is known.
func (l *ledger) period(ctx context.Context, o calendar.Occurrence) (p proto.Period, ok bool, err error) {
	j := l.job
	p = proto.Period{App: j.App.Name, Name: j.cal.Name(o.Start, j.App.Name), Start: o.Start, End: o.End, Why: o.Why,
		Due: j.due(o.Start), State: proto.PeriodExpected}
	if !j.recurring() {
		p.Due = j.lastDue(l.ups, o)
	}
	in, made := l.instances[o.Start.UnixMicro()]
	why, gone := l.whySkipped(o)
	switch {
	case made:
		p.State = periodState(in.State)
		p.Number, p.Run, p.Name = in.Number, in.Run, in.Name
		p.StartedAt, p.FinishedAt, p.RequestID, p.Reason = in.StartedAt, in.FinishedAt, in.RequestID, in.Reason
		if in.State == proto.InstanceQueued && in.Due.After(l.now) && in.Recurring {
			p.State = proto.PeriodExpected
		}
	case gone:
		p.State, p.Reason = proto.PeriodSkipped, why
	case o.Start.Before(j.Since):
		return p, false, nil
	case !j.recurring() && !o.Start.After(l.now):
		p.State = proto.PeriodWaiting
		if l.looked < maxWaits {
			l.looked++
			if p.Waits, err = l.waits(ctx, o); err != nil {
				return p, false, err
			}
		}
	}
	l.judge(&p)
	return p, true, nil
}

// judge says whether a period is late, and what it blocks.
func (l *ledger) judge(p *proto.Period) {
	if p.State == proto.PeriodSkipped {
		p.Blocks = l.dependents
		return
	}
	if deadline := time.Duration(l.job.App.Deadline); deadline > 0 {
		end := l.now
		if p.State == proto.PeriodSucceeded && p.FinishedAt != nil {
			end = *p.FinishedAt
		}
		p.Late = end.After(p.Due.Add(deadline))
	}
	if p.State != proto.PeriodSucceeded && !p.Start.After(l.now) {
		p.Blocks = l.dependents
	}
}

// waits returns the upstream apps that have not SUCCEEDED for all of a period.
func (l *ledger) waits(ctx context.Context, o calendar.Occurrence) ([]string, error) {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(l.job.App.Depends)) {
		on, err := l.e.blockedOn(ctx, name, l.ups[name], o, false)
		if err != nil {
			return nil, err
		}
		if on != nil {
			out = append(out, name)
		}
	}
	return out, nil
}

func (l *ledger) whySkipped(o calendar.Occurrence) (why string, ok bool) {
	for _, ev := range l.skipped {
		if !o.Start.Before(ev.PeriodStart) && !o.Start.After(ev.PeriodTo) {
			return ev.Reason, true
		}
	}
	return "", false
}

func periodState(s proto.InstanceState) proto.PeriodState {
	switch s {
	case proto.InstanceQueued:
		return proto.PeriodQueued
	case proto.InstanceRunning:
		return proto.PeriodRunning
	case proto.InstanceToUndo, proto.InstanceUndoing:
		return proto.PeriodUndoing
	case proto.InstanceSucceeded:
		return proto.PeriodSucceeded
	}
	return proto.PeriodFailed
}
