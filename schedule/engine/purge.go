package engine

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
)

const (
	purgeEvery = time.Hour
	// keepNodes is for how long a member is shown that is gone.
	keepNodes = 24 * time.Hour
)

// purge forgets instances and events that are old, and members that are long gone.
func (e *Engine) purge(ctx context.Context) {
	t := &trouble{log: e.log, msg: "forgetting old instances"}
	every(ctx, purgeEvery, nil, t, func(ctx context.Context) error {
		for _, forget := range []func() (int, error){
			func() (int, error) { return e.store.PurgeArchive(ctx, e.cfg.Keep) },
			func() (int, error) { return e.store.PurgeEvents(ctx, e.cfg.Keep) },
			func() (int, error) { return e.store.PurgeNodes(ctx, keepNodes) },
		} {
			for {
				n, err := forget()
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
