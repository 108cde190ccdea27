package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/ledger"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

// maxLateApps is how many apps are read at a time.
const maxLateApps = 200

// deadlines is the role that says which periods are late.
type deadlines struct {
	store    *store.Store
	upstream *ledger.Upstream
	clock    *clock
	log      *slog.Logger
	metrics  *metrics
	poll     time.Duration
}

// run looks at periods whose deadline has passed: those that are not done
// are late. The cursor of an app, a column, says which one is next.
func (d *deadlines) run(ctx context.Context) {
	t := &trouble{log: d.log, msg: "looking for periods that are late"}
	every(ctx, 2*d.poll, nil, t, func(ctx context.Context) error {
		for {
			rows, err := d.store.DeadlineApps(ctx, maxLateApps)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := d.passDeadline(ctx, row); err != nil {
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
func (d *deadlines) passDeadline(ctx context.Context, row store.AppRow) error {
	if row.DeadlineStart == nil {
		return nil
	}
	app, err := ledger.Compile(row)
	if err != nil {
		return err
	}
	var ups map[string]*plan.App
	if !app.Recurring() {
		if ups, err = d.upstream.Of(ctx, app); err != nil {
			return err
		}
	}
	now := d.clock.now()
	from := *row.DeadlineStart
	next, at := app.NextDeadline(ups, from, now)
	var late *store.AppEvent
	to := from // after the last period whose deadline has passed
	if next == nil {
		to = now
	} else {
		to = *next
	}
	if to.After(from) && !row.Paused {
		if late, err = d.lateEvent(ctx, app, from, to); err != nil {
			return err
		}
	}
	err = d.store.MoveDeadline(ctx, row.App.Name, from, next, at, late)
	if errors.Is(err, store.ErrNotUpdated) || errors.Is(err, store.ErrNotFound) {
		return nil // another member did it
	}
	if err == nil && late != nil {
		d.metrics.late.Add(float64(late.Count))
		d.log.Warn("periods are late", "app", late.App, "from", late.PeriodStart, "count", late.Count)
	}
	return err
}

// lateEvent returns the event about periods that start in [from, to) and are not
// done; nil if all are, or were skipped.
func (d *deadlines) lateEvent(ctx context.Context, app *plan.App, from, to time.Time) (*store.AppEvent, error) {
	s, err := d.upstream.Starts(ctx, app)
	if err != nil {
		return nil, err
	}
	all := s.Count(app, from, to)
	done, err := d.upstream.SucceededOf(ctx, s, app, from, to)
	if err != nil {
		return nil, err
	}
	events, err := d.store.SkippedIn(ctx, app.Def.Name, from, to)
	if err != nil {
		return nil, err
	}
	skipped := 0
	for _, ev := range events {
		a, b := ev.PeriodStart, ev.PeriodTo
		if a.Before(from) {
			a = from
		}
		if end := to.Add(-1); b.After(end) {
			b = end
		}
		skipped += app.Calendar.Count(a, b.Add(1), plan.MaxCounted)
	}
	n := all - done - skipped
	if n <= 0 {
		return nil, nil
	}
	first, last, ok, err := d.upstream.NotDone(ctx, s, app, from, to, all)
	if err != nil || !ok {
		return nil, err
	}
	return &store.AppEvent{App: app.Def.Name, Kind: proto.AppLate, PeriodStart: first, PeriodTo: last, Count: uint64(n)}, nil
}
