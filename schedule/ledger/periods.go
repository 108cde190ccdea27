package ledger

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// maxWaits is for how many periods of one answer the upstream apps are looked at.
const maxWaits = 100

// Periods returns the ledger of an app: the newest limit (100 if 0, at most 1,000) of
// the periods that start in [since, until), newest first: those that are expected, and
// all that have an instance or were skipped. A zero until is after the next period; a
// zero since has no bound.
func (l *Ledger) Periods(ctx context.Context, name string, since, until time.Time, limit int) ([]proto.Period, error) {
	all, err := l.open(ctx)
	if err != nil {
		return nil, ForUser(err, name)
	}
	book, err := all.of(ctx, name)
	if err != nil {
		return nil, ForUser(err, name)
	}
	list, err := book.lines(ctx, since, until, limited(limit, 100))
	if err != nil {
		return nil, ForUser(err, name)
	}
	out := make([]proto.Period, 0, len(list))
	if len(list) == 0 {
		return out, nil
	}
	if err := book.read(ctx, list[len(list)-1].Start, list[0].Start.Add(time.Microsecond)); err != nil {
		return nil, ForUser(err, name)
	}
	for _, x := range list {
		p, err := book.period(ctx, x)
		if err != nil {
			return nil, ForUser(err, name)
		}
		out = append(out, p)
	}
	return out, nil
}

// period returns one line.
func (l *appLedger) period(ctx context.Context, x line) (p proto.Period, err error) {
	a := l.app
	p = proto.Period{App: a.Def.Name, Name: a.Calendar.Name(x.Start, a.Def.Name), Start: x.Start, End: x.End, Why: x.Why,
		Due: a.DueAt(x.Start), State: proto.PeriodExpected}
	if !a.Recurring() {
		p.Due = a.LastDue(l.ups, x.Occurrence)
	}
	in, made := l.instances[x.Start.UnixMicro()]
	why, skipped := l.whySkipped(x)
	switch {
	case made:
		l.fill(&p, x, in)
	case skipped:
		p.State, p.Reason = proto.PeriodSkipped, why
	case a.Recurring() || x.Start.After(l.now):
		p.Reason = l.whyNot(&p)
	default:
		p.State = proto.PeriodWaiting
		if err := l.await(ctx, &p, x); err != nil {
			return p, err
		}
	}
	l.judge(&p, x)
	return p, nil
}

// fill adds what the last instance of a period says.
func (l *appLedger) fill(p *proto.Period, x line, in proto.Instance) {
	p.State = periodState(in.State)
	p.Number, p.Run, p.Name, p.End = in.Number, in.Run, in.Name, in.PeriodEnd
	p.StartedAt, p.FinishedAt, p.RequestID, p.Reason = in.StartedAt, in.FinishedAt, in.RequestID, l.explainState(in)
	if !x.expected {
		p.Due = in.Due
	}
	if in.State == proto.InstanceQueued && in.Due.After(l.now) && in.Recurring {
		p.State = proto.PeriodExpected
	}
}

// await says what a period of an app waits for that depends on others.
func (l *appLedger) await(ctx context.Context, p *proto.Period, x line) error {
	if l.looked >= maxWaits {
		p.Reason = "waits for upstream apps"
		return nil
	}
	l.looked++
	for _, name := range slices.Sorted(maps.Keys(l.app.Def.Depends)) {
		on, err := l.blockedOn(ctx, name, x.Occurrence)
		if err != nil {
			return err
		}
		if on != nil {
			p.Waits = append(p.Waits, name)
		}
	}
	if len(p.Waits) == 0 {
		p.Reason = "its upstream apps have SUCCEEDED: its instance is about to be made"
	}
	return nil
}

// judge says whether a period is late, and what it blocks.
func (l *appLedger) judge(p *proto.Period, x line) {
	if deadline := time.Duration(l.app.Def.Deadline); deadline > 0 && p.State != proto.PeriodSkipped {
		end := l.now
		if p.State == proto.PeriodSucceeded && p.FinishedAt != nil {
			end = *p.FinishedAt
		}
		p.Late = end.After(p.Due.Add(deadline))
	}
	// What lies before `since` is not waited for, nor what has nothing to do.
	if x.expected && !l.succeeded[p.Start.UnixMicro()] && !p.Start.After(l.now) && l.starts.NothingIn(l.app, x.Occurrence) == "" {
		p.Blocks = l.dependents
	}
}

// standing says in words how a period stands that another one waits for.
func standing(p proto.Period) string {
	why := p.Reason
	if len(p.Waits) > 0 {
		why = strings.TrimSuffix("waits for "+strings.Join(p.Waits, ", ")+"; "+why, "; ")
	}
	switch p.State {
	case proto.PeriodSkipped:
		return "skipped: " + why + "; it must be run: treadle app run " + p.App + " --period " + p.Name
	case proto.PeriodExpected, proto.PeriodWaiting:
		if why == "" {
			return "not due before " + stamp(p.Due)
		}
		return why
	}
	state := strings.ToUpper(string(p.State))
	if why == "" {
		return state
	}
	return state + ": " + why
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
