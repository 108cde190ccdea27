package request

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/treadle-run/treadle/request-manager/store"
)

const (
	observeEvery = 15 * time.Second
	checkEvery   = 4 // observations
	// Limits of one check of the invariants: every manager does it.
	checkRequests = 5_000
	checkReplays  = 100
	checkSince    = 10 * time.Minute
	checkTimeout  = 30 * time.Second
)

// observer keeps the metrics of the database up to date.
type observer struct {
	store   *store.Store
	log     *slog.Logger
	metrics *metrics
	runners func() map[string]int // counts them by state
	check   store.CheckOptions
}

func (o *observer) run(ctx context.Context) {
	var healthySince time.Time // the database has answered without a break
	turn := 0
	every(ctx, observeEvery, nil, func(ctx context.Context) {
		if err := o.countAll(ctx); err != nil {
			healthySince = time.Time{}
			if ctx.Err() == nil {
				o.log.Warn("cannot count requests and job runners", "error", err)
			}
			return
		}
		if healthySince.IsZero() {
			healthySince = time.Now()
		}
		// What an outage left behind is repaired first.
		if turn++; turn%checkEvery == 0 && time.Since(healthySince) > o.check.RunnerSilence {
			o.checkInvariants(ctx)
		}
	})
}

func (o *observer) countAll(ctx context.Context) error {
	open, err := o.store.CountOpen(ctx)
	if err != nil {
		return err
	}
	for s, n := range open {
		o.metrics.requests.WithLabelValues(s.String()).Set(float64(n))
	}
	for s, n := range o.runners() {
		o.metrics.runners.WithLabelValues(s).Set(float64(n))
	}
	return nil
}

// checkInvariants sets the metric of violations, and logs them.
func (o *observer) checkInvariants(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	opt := o.check
	opt.Since, opt.Requests = checkSince, checkRequests
	replays := 0
	opt.Replay = func(ctx context.Context, id string, entries uint64) (uint, error) {
		if replays++; replays > checkReplays {
			return 0, store.ErrNotCounted
		}
		return finishedJobs(ctx, o.store, id, entries)
	}
	res, err := o.store.Check(ctx, opt)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			o.log.Warn("cannot check the invariants", "error", err)
		}
		return
	}
	n := map[string]int{}
	for _, f := range res.Findings {
		if n[f.Check]++; n[f.Check] == 1 {
			o.log.Error("the database violates an invariant; treadle check shows all violations",
				"check", f.Check, "request", f.RequestID, "what", f.Message)
		}
	}
	for _, c := range store.Checks() {
		o.metrics.violations.WithLabelValues(c).Set(float64(n[c]))
	}
	o.metrics.checkedAt.SetToCurrentTime()
}
