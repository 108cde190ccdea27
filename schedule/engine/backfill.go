package engine

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/ledger"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

// Backfills runs periods that are asked for.
type Backfills struct {
	store    *store.Store
	upstream *ledger.Upstream
	extras   *extras
	fetchNow chan<- struct{}
}

// RunPeriods makes instances of periods that have started: of those that never ran, or
// failed, or of all again.
func (b *Backfills) RunPeriods(ctx context.Context, name string, r proto.RunPeriods) (proto.RunPeriodsAnswer, error) {
	var answer proto.RunPeriodsAnswer
	row, err := b.store.App(ctx, name)
	if err != nil {
		return answer, ledger.ForUser(err, name)
	}
	app, err := ledger.Compile(row)
	if err != nil {
		return answer, err
	}
	now, err := b.store.Now(ctx)
	if err != nil {
		return answer, ledger.ForUser(err, name)
	}
	list, err := app.Asked(r, now)
	if err != nil {
		return answer, err
	}
	answer.Periods = make([]proto.RunPeriod, len(list))
	var wanted []store.NewInstance
	var places []int
	for i, o := range list {
		answer.Periods[i] = proto.RunPeriod{Name: app.Calendar.Name(o.Start, name), Start: o.Start}
		why, err := b.notYet(ctx, app, o, r.Force, now)
		if err != nil {
			return answer, ledger.ForUser(err, name)
		}
		if why != "" {
			answer.Periods[i].Why = why
			continue
		}
		n, err := b.extras.make(ctx, app, o)
		if err != nil {
			return answer, ledger.ForUser(err, name)
		}
		n.FetchAt, n.Due, n.Reason = time.Time{}, now, "" // it was asked for now
		wanted, places = append(wanted, *n), append(places, i)
	}
	if len(wanted) == 0 {
		return answer, nil
	}
	results, err := b.store.ExtraInstances(ctx, name, wanted, r.Again)
	if err != nil {
		return answer, ledger.ForUser(err, name)
	}
	for i, res := range results {
		answer.Periods[places[i]].Made, answer.Periods[places[i]].Why = res.Made, res.Why
	}
	wait.Nudge(b.fetchNow)
	return answer, nil
}

// notYet says why a period cannot run yet; "" if it can.
func (b *Backfills) notYet(ctx context.Context, app *plan.App, o calendar.Occurrence, force bool, now time.Time) (string, error) {
	if o.Start.After(now) {
		return "it has not started", nil
	}
	if app.Recurring() || force {
		return "", nil
	}
	ok, err := b.upstream.Complete(ctx, app, o)
	if err != nil || ok {
		return "", err
	}
	return "upstream apps have not succeeded for it: see what is blocked, or force it", nil
}
