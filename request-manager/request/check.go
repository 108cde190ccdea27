package request

import (
	"context"
	"errors"
	"time"

	"github.com/treadle-run/treadle/request-manager/store"
)

const (
	observeEvery = 15 * time.Second
	checkEvery   = 4 // observations
	// What one look at the invariants may cost: it is done by every manager.
	checkRequests = 5_000
	checkReplays  = 100
	checkSince    = 10 * time.Minute
	checkTimeout  = 30 * time.Second
)

// Check looks for what must never be so, in the database of the configuration:
// all that has not ended, and what ended since then (0: all). It only reads.
func Check(ctx context.Context, cfg Config, since time.Duration) (store.CheckResult, error) {
	cfg = cfg.withDefaults()
	opt := cfg.checkOptions()
	opt.Since = since
	opt.Replay = func(ctx context.Context, id string, entries uint64) (uint, error) {
		return finishedJobs(ctx, cfg.Store, id, entries)
	}
	return cfg.Store.Check(ctx, opt)
}

// checkOptions says from when on something is wrong: when those who would see to it
// have had their time, also if they were restarted meanwhile.
func (c *Config) checkOptions() store.CheckOptions {
	// A manager that has just got its database waits for the length of the lease once
	// more before it gives a runner up.
	silence := 2*(c.Lease+c.LeaseMargin) + 10*time.Second
	return store.CheckOptions{
		RunnerSilence: silence,
		StopAge:       silence + time.Minute, // jobs have their grace to end
		ClaimAge:      c.ClaimTimeout + 3*c.ResumeEvery + 10*time.Second,
		ClockSkew:     10 * time.Second,
	}
}

func finishedJobs(ctx context.Context, s *store.Store, id string, entries uint64) (uint, error) {
	c, _, err := replayTo(ctx, s, id, entries)
	if err != nil {
		return 0, err
	}
	return c.FinishedJobs(), nil
}

// observe keeps the metrics of the database up to date.
func (m *Manager) observe(ctx context.Context) {
	var healthySince time.Time // without a break
	turn := 0
	every(ctx, observeEvery, nil, func(ctx context.Context) {
		if err := m.countAll(ctx); err != nil {
			healthySince = time.Time{}
			if ctx.Err() == nil {
				m.log.Warn("cannot count requests and runners", "error", err)
			}
			return
		}
		if healthySince.IsZero() {
			healthySince = time.Now()
		}
		// What was left behind by an outage is seen to first.
		if turn++; turn%checkEvery == 0 && time.Since(healthySince) > m.cfg.checkOptions().RunnerSilence {
			m.checkInvariants(ctx)
		}
	})
}

func (m *Manager) countAll(ctx context.Context) error {
	n, err := m.store.CountOpen(ctx)
	if err != nil {
		return err
	}
	for s, n := range n {
		m.metrics.requests.WithLabelValues(s.String()).Set(float64(n))
	}
	states := map[string]int{runnerUp: 0, runnerDraining: 0, runnerSilent: 0}
	m.fleet.mu.Lock()
	for _, x := range m.fleet.members {
		switch {
		case time.Since(x.seen) >= m.cfg.HeartbeatTimeout:
			states[runnerSilent]++
		case x.runner.Draining:
			states[runnerDraining]++
		default:
			states[runnerUp]++
		}
	}
	m.fleet.mu.Unlock()
	for s, n := range states {
		m.metrics.runners.WithLabelValues(s).Set(float64(n))
	}
	return nil
}

// checkInvariants sets the metric of violations, and logs them.
func (m *Manager) checkInvariants(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	opt := m.cfg.checkOptions()
	opt.Since, opt.Requests = checkSince, checkRequests
	replays := 0
	opt.Replay = func(ctx context.Context, id string, entries uint64) (uint, error) {
		if replays++; replays > checkReplays {
			return 0, store.ErrNotCounted
		}
		return finishedJobs(ctx, m.store, id, entries)
	}
	res, err := m.store.Check(ctx, opt)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			m.log.Warn("cannot look at the invariants", "error", err)
		}
		return
	}
	n := map[string]int{}
	for _, f := range res.Findings {
		if n[f.Check]++; n[f.Check] == 1 {
			m.log.Error("the database says what must never be so; treadle check shows all of it",
				"check", f.Check, "request", f.RequestID, "what", f.Message)
		}
	}
	for _, c := range store.Checks() {
		m.metrics.violations.WithLabelValues(c).Set(float64(n[c]))
	}
	m.metrics.checkedAt.SetToCurrentTime()
}
