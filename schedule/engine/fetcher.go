package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/schedule/ledger"
	"github.com/treadle-run/treadle/schedule/store"
)

// fetchGap is the least time between two looks for what is due.
const fetchGap = 50 * time.Millisecond

// Fetcher finds the instances that are due, and hands them to the Dispatcher. Those
// of its own shards it reads a moment before they are due, so that they start in
// time.
type Fetcher struct {
	store      *store.Store
	apps       *ledger.Apps
	clock      *clock
	buckets    func() []store.BucketRange // of the shards of this member
	dispatcher *Dispatcher
	log        *slog.Logger
	wake       <-chan struct{}
	poll       time.Duration
	staleAfter time.Duration

	othersAt, endedAt time.Time // when these were looked at last
}

func (f *Fetcher) run(ctx context.Context) {
	t := &trouble{log: f.log, msg: "looking for instances that are due"}
	every(ctx, f.poll, f.wake, t, func(ctx context.Context) error {
		if err := f.Fetch(ctx); err != nil {
			return err
		}
		return wait.For(ctx, fetchGap)
	})
}

// Fetch looks once. It reads no more than the Dispatcher has room for.
func (f *Fetcher) Fetch(ctx context.Context) error {
	if err := f.fetchOwn(ctx); err != nil {
		return err
	}
	now := time.Now()
	if now.Sub(f.endedAt) >= 2*f.poll {
		if err := f.fetchEnded(ctx); err != nil {
			return err
		}
		f.endedAt = now
	}
	if now.Sub(f.othersAt) >= f.staleAfter/5 {
		if err := f.fetchOthers(ctx); err != nil {
			return err
		}
		f.othersAt = now
	}
	return nil
}

// fetchOwn reads what is due soon in the shards of this member.
func (f *Fetcher) fetchOwn(ctx context.Context) error {
	buckets := f.buckets()
	known, room := f.dispatcher.load()
	if len(buckets) == 0 || room < f.dispatcher.batch() {
		return nil // it asks again when there is room
	}
	limit := known + f.dispatcher.batch() // those that are known may come first
	sent := time.Now()
	due, now, err := f.store.DueInstances(ctx, buckets, f.poll, limit)
	if err != nil {
		return err
	}
	f.clock.set(now, sent, time.Now())
	f.dispatcher.wantMore(len(due) == limit)
	return f.dispatchAll(ctx, due)
}

// fetchOthers reads what is overdue in any shard, and the instances of dead members.
func (f *Fetcher) fetchOthers(ctx context.Context) error {
	_, room := f.dispatcher.load()
	if room < f.dispatcher.batch() {
		return nil
	}
	overdue, err := f.store.OverdueInstances(ctx, f.staleAfter, f.dispatcher.batch())
	if err != nil {
		return err
	}
	if err := f.dispatchAll(ctx, overdue); err != nil {
		return err
	}
	// The age of a heartbeat says something only if the clock was not set meanwhile.
	if !f.clock.steady(f.staleAfter) {
		return nil
	}
	stale, err := f.store.StaleInstances(ctx, f.staleAfter, f.dispatcher.batch())
	if err != nil {
		return err
	}
	now := time.Now()
	for _, in := range stale {
		f.dispatcher.Dispatch(in, now)
	}
	return nil
}

// fetchEnded reads instances whose request has ended without waking them.
func (f *Fetcher) fetchEnded(ctx context.Context) error {
	_, room := f.dispatcher.load()
	if room < f.dispatcher.batch() {
		return nil
	}
	ended, err := f.store.SettledInstances(ctx, f.dispatcher.batch())
	if err != nil {
		return err
	}
	now := time.Now()
	for _, in := range ended {
		f.dispatcher.Dispatch(in, now)
	}
	return nil
}

func (f *Fetcher) dispatchAll(ctx context.Context, due []store.DueInstance) error {
	var names []string
	seen := map[string]bool{}
	for _, d := range due {
		if !seen[d.App] && !f.dispatcher.knows(d.Instance) {
			seen[d.App] = true
			names = append(names, d.App)
		}
	}
	if err := f.apps.Load(ctx, names); err != nil {
		return err
	}
	for _, d := range due {
		f.dispatcher.Dispatch(d.Instance, f.clock.local(d.FetchAt))
	}
	return nil
}
