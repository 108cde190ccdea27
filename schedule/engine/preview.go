package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// NextTimes returns the next n (10 if 0, at most 1,000) times of an app from a time on,
// or after now if that is zero, and what is unusual about them.
func (e *Engine) NextTimes(ctx context.Context, name string, from time.Time, n int) ([]proto.NextTime, error) {
	row, err := e.store.App(ctx, name)
	if err != nil {
		return nil, storeError(err, name)
	}
	after := from.Add(-time.Nanosecond)
	if from.IsZero() {
		if after, err = e.store.Now(ctx); err != nil {
			return nil, storeError(err, name)
		}
	}
	list, err := Preview(row.App, after, n)
	if err != nil {
		return nil, err
	}
	if err := e.sayNothingIn(ctx, row, list); err != nil {
		return nil, storeError(err, name)
	}
	if row.Paused {
		for i := range list {
			list[i].Why = strings.TrimPrefix(list[i].Why+"; the app is paused", "; ")
		}
	}
	return list, nil
}

// sayNothingIn says of which periods no upstream app has a start.
func (e *Engine) sayNothingIn(ctx context.Context, row store.AppRow, list []proto.NextTime) error {
	if len(row.App.Depends) == 0 {
		return nil
	}
	job, err := compile(row)
	if err != nil {
		return err
	}
	s, err := e.startsOf(ctx, job)
	if err != nil {
		return err
	}
	for i, t := range list {
		if why := s.nothingIn(job, calendar.Occurrence{Start: t.Start, End: t.End}); why != "" {
			list[i].Why = why
		}
	}
	return nil
}

// Preview returns the next n (10 if 0, at most 1,000) times of an app after now. The
// error has CodeInvalid: the app has no calendar.
func Preview(app proto.App, now time.Time, n int) ([]proto.NextTime, error) {
	cal, err := calendarOf(app)
	if err != nil {
		return nil, err
	}
	j := &Job{cal: cal}
	j.App = app
	out := []proto.NextTime{}
	o, ok := j.first(now)
	for range limited(n, 10) {
		if !ok {
			break
		}
		t := proto.NextTime{Name: cal.Name(o.Start, app.Name), Start: o.Start, End: o.End, Due: j.due(o.Start), Why: o.Why}
		if !j.recurring() {
			t.Why = strings.TrimPrefix(t.Why+"; starts when all of it is done of "+
				strings.Join(slices.Sorted(maps.Keys(app.Depends)), ", "), "; ")
		}
		out = append(out, t)
		o, ok = cal.Next(o.Start)
	}
	return out, nil
}
