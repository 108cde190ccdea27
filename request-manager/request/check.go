package request

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/request-manager/store"
)

// Check checks the invariants of the database of the configuration: of all requests
// that have not ended, and of those that ended since then (0: all). It only reads.
func Check(ctx context.Context, cfg Config, since time.Duration) (store.CheckResult, error) {
	cfg = cfg.withDefaults()
	opt := cfg.checkOptions()
	opt.Since = since
	opt.Replay = func(ctx context.Context, id string, entries uint64) (uint, error) {
		return finishedJobs(ctx, cfg.Store, id, entries)
	}
	return cfg.Store.Check(ctx, opt)
}

// checkOptions says how old a trouble must be to count: managers have had the time
// to repair it by then, also if they were restarted meanwhile.
func (c *Config) checkOptions() store.CheckOptions {
	// A manager that has just reached its database waits for the length of the lease
	// once more before it declares a runner dead.
	silence := 2*c.deathLimit() + 10*time.Second
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
