package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/schedule/store"
)

const (
	purgeEvery = time.Hour
	// keepNodes is for how long a member is shown that has left.
	keepNodes = 24 * time.Hour
)

// purger is the role that deletes what is old.
type purger struct {
	store *store.Store
	log   *slog.Logger
	keep  time.Duration
}

// run deletes instances and events that are old, and members that left long ago.
func (p *purger) run(ctx context.Context) {
	t := &trouble{log: p.log, msg: "deleting old instances"}
	every(ctx, purgeEvery, nil, t, func(ctx context.Context) error {
		for _, del := range []func() (int, error){
			func() (int, error) { return p.store.PurgeArchive(ctx, p.keep) },
			func() (int, error) { return p.store.PurgeEvents(ctx, p.keep) },
			func() (int, error) { return p.store.PurgeMembers(ctx, keepNodes) },
		} {
			for {
				n, err := del()
				if err != nil {
					return err
				}
				if n == 0 {
					break
				}
				if err := wait.For(ctx, time.Second); err != nil { // so that others get on
					return err
				}
			}
		}
		return nil
	})
}
