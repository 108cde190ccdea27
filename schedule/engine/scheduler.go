package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/treadle-run/treadle/schedule/ledger"
	"github.com/treadle-run/treadle/schedule/store"
)

// healEvery is how often the store is asked for apps that have no next instance.
const healEvery = 10 * time.Minute

// Scheduler gives apps their next instances where they have none. In the ordinary course
// the next one is made in the transaction that ends the one before.
type Scheduler struct {
	store *store.Store
	clock *clock
	log   *slog.Logger
}

// ScheduleRecurringJob stores the next instance of an app that has none.
func (s *Scheduler) ScheduleRecurringJob(ctx context.Context, name string) error {
	row, err := s.store.App(ctx, name)
	if err != nil {
		return err
	}
	app, err := ledger.Compile(row)
	if err != nil {
		return err
	}
	o, ok := app.First(s.clock.now())
	if !ok || !app.Recurring() {
		return nil
	}
	return s.store.AddNext(ctx, name, row.Generation, *newInstance(app.Instance(o)))
}

// heal looks for apps without a next instance. There are none unless something went
// wrong, such as rows that were lost with a database that was restored.
func (s *Scheduler) heal(ctx context.Context) {
	t := &trouble{log: s.log, msg: "looking for apps without a next instance"}
	every(ctx, healEvery, nil, t, func(ctx context.Context) error {
		names, err := s.store.AppsWithoutNext(ctx, 100)
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
			s.log.Warn("an app had no next instance: it has one now", "app", name)
		}
		return nil
	})
}
