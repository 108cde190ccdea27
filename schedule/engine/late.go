package engine

import (
	"context"
	"errors"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// maxLateApps is how many apps are read at a time.
const maxLateApps = 200

// watchDeadlines looks at periods whose deadline has passed: those that are not done
// are late. The cursor of an app, a column, says which one is next.
func (e *Engine) watchDeadlines(ctx context.Context) {
	t := &trouble{log: e.log, msg: "looking for periods that are late"}
	every(ctx, 2*e.cfg.Poll, nil, t, func(ctx context.Context) error {
		for {
			rows, err := e.store.DeadlineApps(ctx, maxLateApps)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := e.passDeadline(ctx, row); err != nil {
					return err
				}
			}
			if len(rows) < maxLateApps {
				return nil
			}
		}
	})
}

// passDeadline says what is late of the periods whose deadline has passed, once, and
// moves on to the first one whose deadline is still to come.
func (e *Engine) passDeadline(ctx context.Context, row store.AppRow) error {
	if row.DeadlineStart == nil {
		return nil
	}
	job, err := compile(row)
	if err != nil {
		return err
	}
	var ups map[string]*Job
	if !job.recurring() {
		if ups, err = e.upstreams(ctx, job); err != nil {
			return err
		}
	}
	now := e.clock.now()
	from := *row.DeadlineStart
	next, at := job.nextDeadline(ups, from, now)
	var late *store.AppEvent
	to := from // after the last period whose deadline has passed
	if next == nil {
		to = now
	} else {
		to = *next
	}
	if to.After(from) && !row.Paused {
		if late, err = e.lateEvent(ctx, job, from, to); err != nil {
			return err
		}
	}
	err = e.store.MoveDeadline(ctx, row.App.Name, from, next, at, late)
	if errors.Is(err, store.ErrNotUpdated) || errors.Is(err, store.ErrNotFound) {
		return nil // another member did it
	}
	if err == nil && late != nil {
		e.metrics.late.Add(float64(late.Count))
		e.log.Warn("periods are late", "app", late.App, "from", late.PeriodStart, "count", late.Count)
	}
	return err
}

// nextDeadline returns the first period from the one that starts at from on whose
// deadline is after now, and that deadline; nils if there is none.
func (j *Job) nextDeadline(ups map[string]*Job, from, now time.Time) (start, at *time.Time) {
	deadline := time.Duration(j.App.Deadline)
	if deadline <= 0 {
		return nil, nil
	}
	lateAt := func(o calendar.Occurrence) time.Time {
		if j.recurring() {
			return j.due(o.Start).Add(deadline)
		}
		return j.lastDue(ups, o).Add(deadline)
	}
	// All periods before this one are late by now if they are not done: their ends, and
	// so all that they need, were due before.
	o, ok := j.cal.AtOrBefore(now.Add(-deadline - time.Duration(j.App.Jitter)))
	if ok && !j.recurring() {
		o, ok = j.before(o)
	}
	if !ok || o.Start.Before(from) {
		if o, ok = j.cal.AtOrBefore(from); !ok {
			return nil, nil
		}
	}
	for !lateAt(o).After(now) {
		if o, ok = j.cal.Next(o.Start); !ok {
			return nil, nil
		}
	}
	late := lateAt(o)
	return &o.Start, &late
}

// lateEvent returns the event about periods that start in [from, to) and are not
// done; nil if all are, or were skipped.
func (e *Engine) lateEvent(ctx context.Context, j *Job, from, to time.Time) (*store.AppEvent, error) {
	s, err := e.startsOf(ctx, j)
	if err != nil {
		return nil, err
	}
	all := s.count(j, from, to)
	done, err := e.succeededOf(ctx, s, j, from, to)
	if err != nil {
		return nil, err
	}
	events, err := e.store.SkippedIn(ctx, j.App.Name, from, to)
	if err != nil {
		return nil, err
	}
	gone := 0
	for _, ev := range events {
		a, b := ev.PeriodStart, ev.PeriodTo
		if a.Before(from) {
			a = from
		}
		if end := to.Add(-1); b.After(end) {
			b = end
		}
		gone += j.cal.Count(a, b.Add(1), maxCounted)
	}
	n := all - done - gone
	if n <= 0 {
		return nil, nil
	}
	first, last, ok, err := e.notDone(ctx, s, j, from, to, all)
	if err != nil || !ok {
		return nil, err
	}
	return &store.AppEvent{App: j.App.Name, Kind: proto.AppLate, PeriodStart: first, PeriodTo: last, Count: uint64(n)}, nil
}

// notDone returns the starts of the first and the last expected period in [from, to)
// that did not SUCCEED. Of very many it takes the first and the last at all.
func (e *Engine) notDone(ctx context.Context, s *starts, j *Job, from, to time.Time, n int) (first, last time.Time, ok bool, err error) {
	o, end, ok := s.between(j, from, to)
	if !ok || n > 100 {
		return o.Start, end.Start, ok, nil
	}
	found := false
	for ; ok && o.Start.Before(to); o, ok = s.next(j, o.Start.Add(time.Nanosecond)) {
		done, err := e.store.Succeeded(ctx, j.App.Name, o.Start)
		if err != nil {
			return first, last, false, err
		}
		if done {
			continue
		}
		if !found {
			first, found = o.Start, true
		}
		last = o.Start
	}
	return first, last, found, nil
}
