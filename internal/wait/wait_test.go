package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestForWaitsExactly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := For(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("For returned %v after %v, want nil after an hour", err, time.Since(start))
		}
	})
}

func TestForEndsWithItsContextAndSaysWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(why) })
		start := time.Now()
		if err := For(ctx, time.Hour); !errors.Is(err, why) || time.Since(start) != time.Minute {
			t.Errorf("For returned %v after %v, want %v after a minute", err, time.Since(start), why)
		}
	})
}

func TestNudgesBeforeALookAreOne(t *testing.T) {
	t.Parallel()
	wake := make(chan struct{}, 1)
	Nudge(wake)
	Nudge(wake)
	<-wake
	select {
	case <-wake:
		t.Error("two nudges woke twice")
	default:
	}
	Nudge(wake)
	if len(wake) != 1 {
		t.Error("a nudge after the look was lost")
	}
}
