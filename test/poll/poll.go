// Package poll asks again and again, for tests that wait for what other processes do.
package poll

import (
	"context"
	"time"
)

// Until asks at once and then at every interval until done says so or fails, or
// until ctx ends, whose cause it returns then.
func Until(ctx context.Context, interval time.Duration, done func() (bool, error)) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
