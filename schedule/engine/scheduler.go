package engine

import (
	"context"
	"errors"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// healEvery is how often the store is asked for apps that have no next instance.
const healEvery = 10 * time.Minute

// Scheduler gives apps their next instances. In the ordinary course the next one is
// made in the transaction that ends the one before.
type Scheduler struct {
	e *Engine
}

// put returns what is stored of an app: its definition, and its first instance if it
// starts by time. now is the database's.
func (s *Scheduler) put(app proto.App, source string, now time.Time) (store.AppPut, error) {
	job, err := compile(store.AppRow{App: app})
	if err != nil {
		return store.AppPut{}, err
	}
	p := store.AppPut{App: app, Source: source, Since: now}
	o, ok := job.first(now)
	if job.recurring() {
		if ok {
			p.First, p.Since = job.instance(o), o.Start
		}
	} else if o, ok = job.cal.AtOrBefore(now); ok {
		// The period that has begun counts: what upstream apps have still to do in it.
		p.Since = o.Start
	}
	if ok {
		// Until the upstream apps are known, a period is taken to be due at its end.
		p.DeadlineStart, p.DeadlineAt = job.deadline(o.Start, o.End)
	}
	return p, nil
}

// deadline returns when the period is late that starts then, nils if it never is.
func (j *Job) deadline(start, end time.Time) (from, at *time.Time) {
	if j.App.Deadline <= 0 {
		return nil, nil
	}
	late := j.due(start).Add(time.Duration(j.App.Deadline))
	if !j.recurring() {
		late = end.Add(time.Duration(j.App.Deadline))
	}
	return &start, &late
}

// ScheduleRecurringJob stores the next instance of an app that has none.
func (s *Scheduler) ScheduleRecurringJob(ctx context.Context, name string) error {
	row, err := s.e.store.App(ctx, name)
	if err != nil {
		return err
	}
	job, err := compile(row)
	if err != nil {
		return err
	}
	o, ok := job.first(s.e.clock.now())
	if !ok || !job.recurring() {
		return nil
	}
	return s.e.store.AddNext(ctx, name, row.Generation, *job.instance(o))
}

// heal looks for apps without a next instance. There are none unless something went
// wrong, such as rows that were lost with a database that was restored.
func (s *Scheduler) heal(ctx context.Context) {
	t := &trouble{log: s.e.log, msg: "looking for apps without a next instance"}
	every(ctx, healEvery, nil, t, func(ctx context.Context) error {
		names, err := s.e.store.AppsWithoutNext(ctx, 100)
		if err != nil {
			return err
		}
		for _, name := range names {
			err := s.ScheduleRecurringJob(ctx, name)
			if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrNotUpdated) || errors.Is(err, store.ErrStaleApp) {
				continue
			}
			if err != nil {
				return err
			}
			s.e.log.Warn("an app had no next instance: it has one now", "app", name)
		}
		return nil
	})
}
