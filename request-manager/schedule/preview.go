package schedule

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// NextTimes returns the next n (10 if 0, at most 1,000) times of an app after from, or
// after now if that is zero, and what is unusual about them.
func (e *Engine) NextTimes(ctx context.Context, name string, from time.Time, n int) ([]proto.NextTime, error) {
	row, err := e.store.App(ctx, name)
	if err != nil {
		return nil, storeError(err, name)
	}
	if from.IsZero() {
		if from, err = e.store.Now(ctx); err != nil {
			return nil, storeError(err, name)
		}
	}
	list, err := Preview(row.App, from, n)
	if row.Paused {
		for i := range list {
			list[i].Why = strings.TrimPrefix(list[i].Why+"; the app is paused", "; ")
		}
	}
	return list, err
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
