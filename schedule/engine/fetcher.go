package engine

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/request-manager/store"
)

// fetchGap is the least time between two looks for what is due.
const fetchGap = 50 * time.Millisecond

// Fetcher finds the instances that are due, and hands them to the Dispatcher. Those
// of its own shards it reads a moment before they are due, so that they start in
// time.
type Fetcher struct {
	e          *Engine
	dispatcher *Dispatcher

	othersAt, settledAt time.Time // when these were looked at last
}

func (f *Fetcher) run(ctx context.Context) {
	t := &trouble{log: f.e.log, msg: "looking for instances that are due"}
	every(ctx, f.e.cfg.Poll, f.e.fetchWake, t, func(ctx context.Context) error {
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
	if now.Sub(f.settledAt) >= 2*f.e.cfg.Poll {
		if err := f.fetchSettled(ctx); err != nil {
			return err
		}
		f.settledAt = now
	}
	if now.Sub(f.othersAt) >= f.e.cfg.StaleAfter/5 {
		if err := f.fetchOthers(ctx); err != nil {
			return err
		}
		f.othersAt = now
	}
	return nil
}

// fetchOwn reads what is due soon in the shards of this member.
func (f *Fetcher) fetchOwn(ctx context.Context) error {
	_, buckets := f.e.member.mine()
	known, room := f.dispatcher.load()
	if len(buckets) == 0 || room < f.dispatcher.batch() {
		return nil // it asks again when there is room
	}
	limit := known + f.dispatcher.batch() // those that are known may come first
	sent := time.Now()
	due, now, err := f.e.store.DueInstances(ctx, buckets, f.e.cfg.Poll, limit)
	if err != nil {
		return err
	}
	f.e.clock.set(now, sent, time.Now(), f.e.member.tolerance())
	f.dispatcher.wantMore(len(due) == limit)
	return f.dispatchAll(ctx, due)
}

// fetchOthers reads what nobody looked at for too long, in any shard, and what
// members have that are not heard of any more.
func (f *Fetcher) fetchOthers(ctx context.Context) error {
	_, room := f.dispatcher.load()
	if room < f.dispatcher.batch() {
		return nil
	}
	overdue, err := f.e.store.OverdueInstances(ctx, f.e.cfg.StaleAfter, f.dispatcher.batch())
	if err != nil {
		return err
	}
	if err := f.dispatchAll(ctx, overdue); err != nil {
		return err
	}
	// The age of a heartbeat says something only if the clock was not set meanwhile.
	if !f.e.clock.steady(f.e.cfg.StaleAfter) {
		return nil
	}
	stale, err := f.e.store.StaleInstances(ctx, f.e.cfg.StaleAfter, f.dispatcher.batch())
	if err != nil {
		return err
	}
	now := time.Now()
	for _, in := range stale {
		f.dispatcher.Dispatch(in, now)
	}
	return nil
}

// fetchSettled reads instances whose request has ended, and that nobody told.
func (f *Fetcher) fetchSettled(ctx context.Context) error {
	_, room := f.dispatcher.load()
	if room < f.dispatcher.batch() {
		return nil
	}
	settled, err := f.e.store.SettledInstances(ctx, f.dispatcher.batch())
	if err != nil {
		return err
	}
	now := time.Now()
	for _, in := range settled {
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
	if err := f.e.jobs.load(ctx, names); err != nil {
		return err
	}
	for _, d := range due {
		f.dispatcher.Dispatch(d.Instance, f.e.clock.local(d.FetchAt))
	}
	return nil
}
