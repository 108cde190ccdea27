package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/treadle-run/treadle/request-manager/request"
	"github.com/treadle-run/treadle/request-manager/store"
)

// ValidateCheck is the part of Validate that Check needs.
func (c Config) ValidateCheck() error {
	return errors.Join(
		c.ValidateDatabase(),
		positive("resumer.claim_timeout", c.Resumer.ClaimTimeout),
		positive("resumer.interval", c.Resumer.Interval),
		c.validateLease(),
		c.Log.Validate(),
	)
}

// Check checks the invariants of the database of the configuration: of all requests
// that have not ended, and of those that ended since then (0: all). It only reads,
// and needs no Request Manager. The error is store.ErrUnavailable if the database is
// unavailable.
func Check(ctx context.Context, cfg Config, since time.Duration, log *slog.Logger) (res store.CheckResult, err error) {
	if path := cfg.SQLite.Path; path != "" {
		// To open it would create it.
		if _, err := os.Stat(path); err != nil {
			return res, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
	}
	db, err := OpenDatabase(ctx, cfg, log)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	current, newest, _, err := db.MigrationStatus(ctx)
	if err != nil {
		return res, err
	}
	if current != newest {
		return res, fmt.Errorf("the schema of the database has version %d, and this program knows %d", current, newest)
	}
	return request.Check(ctx, request.Config{
		Store: store.New(db), Logger: log,
		Lease: cfg.Lease, ClaimTimeout: cfg.Resumer.ClaimTimeout, ResumeEvery: cfg.Resumer.Interval,
	}, since)
}
