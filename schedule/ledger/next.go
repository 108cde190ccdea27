package ledger

import (
	"context"
	"strings"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

// NextTimes returns the next n (10 if 0, at most 1,000) times of an app from a time on,
// or after now if that is zero, and what is unusual about them.
func (l *Ledger) NextTimes(ctx context.Context, name string, from time.Time, n int) ([]proto.NextTime, error) {
	row, err := l.store.App(ctx, name)
	if err != nil {
		return nil, ForUser(err, name)
	}
	after := from.Add(-time.Nanosecond)
	if from.IsZero() {
		if after, err = l.store.Now(ctx); err != nil {
			return nil, ForUser(err, name)
		}
	}
	list, err := plan.Preview(row.App, after, n)
	if err != nil {
		return nil, err
	}
	if err := l.sayNothingIn(ctx, row, list); err != nil {
		return nil, ForUser(err, name)
	}
	if row.Paused {
		for i := range list {
			list[i].Why = strings.TrimPrefix(list[i].Why+"; the app is paused", "; ")
		}
	}
	return list, nil
}

// sayNothingIn says of which periods no upstream app has a start.
func (l *Ledger) sayNothingIn(ctx context.Context, row store.AppRow, list []proto.NextTime) error {
	if len(row.App.Depends) == 0 {
		return nil
	}
	app, err := Compile(row)
	if err != nil {
		return err
	}
	s, err := l.upstream.Starts(ctx, app)
	if err != nil {
		return err
	}
	for i, t := range list {
		if why := s.NothingIn(app, calendar.Occurrence{Start: t.Start, End: t.End}); why != "" {
			list[i].Why = why
		}
	}
	return nil
}
