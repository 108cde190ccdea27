package request

import (
	"context"
	"log/slog"
	"time"

	"github.com/treadle-run/treadle/request-manager/store"
)

const (
	purgeEvery = time.Hour
	// keepDeadRunners is for how long the heartbeat of a dead runner may come late.
	keepDeadRunners = 24 * time.Hour
)

// purger deletes what nobody needs any more.
type purger struct {
	store    *store.Store
	log      *slog.Logger
	keepKeys time.Duration
}

func (p *purger) run(ctx context.Context) {
	every(ctx, purgeEvery, nil, func(ctx context.Context) {
		if _, err := p.store.PurgeKeys(ctx, p.keepKeys); err != nil && ctx.Err() == nil {
			p.log.Warn("cannot delete old idempotency keys", "error", err)
		}
		if _, err := p.store.PurgeRunners(ctx, keepDeadRunners); err != nil && ctx.Err() == nil {
			p.log.Warn("cannot delete records of dead job runners", "error", err)
		}
	})
}
