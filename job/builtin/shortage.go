package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// Between two attempts to start a command for which the machine had no room.
const (
	firstPause = 200 * time.Millisecond
	maxPause   = 5 * time.Second
)

// shortages are what a machine that is short of descriptors, processes, memory or disk
// answers. It is no fault of the job, and passes.
var shortages = []syscall.Errno{
	syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT, syscall.ENOBUFS,
}

func isShortage(err error) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && slices.Contains(shortages, errno)
}

// freed tells one of those who wait that a command has ended: what it had may be enough.
var freed = make(chan struct{}, 1)

// persist calls attempt again as long as the machine is short of something, until ctx
// ends. Status says meanwhile what there is too little of.
func (p *program) persist(ctx context.Context, attempt func() error) error {
	defer p.short.Store(nil)
	for pause := firstPause; ; pause = min(max(2*pause, firstPause), maxPause) {
		err := attempt()
		if !isShortage(err) {
			select {
			case freed <- struct{}{}:
			default:
			}
			return err
		}
		text := err.Error()
		p.short.Store(&text)
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-freed:
			again.Stop()
			pause /= 2 // things move
		case <-ctx.Done():
			again.Stop()
			return fmt.Errorf("%w; it waited, because: %w", stoppedError(ctx), err)
		}
	}
}
