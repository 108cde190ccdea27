// Package wait has the ways in which loops wait: for a time, and to be woken.
package wait

import (
	"context"
	"time"
)

// For returns after d, or with the cause when ctx ends.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Nudge wakes whoever waits on a channel with room for one. It never blocks: who was
// nudged and has not looked yet need not be nudged again.
func Nudge(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
