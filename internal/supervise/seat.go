package supervise

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"time"
)

// seatFD is where a supervisor finds the lock of its runner's seat, if it has one.
const seatFD = 4

// seatWait is how long a runner waits for what is left of the one before it.
const seatWait = 30 * time.Second

// Succeed takes the place of the runner at an address, before Run. The supervisor
// of an earlier runner of this host, which was killed, may still be ending its
// commands: to register at the address says that nothing of it runs any more. So
// Succeed waits until that supervisor is gone; if that takes too long it says so in
// the log and goes on. The error says that there is no directory for lock files, or that ctx
// ended.
func (s *Supervisor) Succeed(ctx context.Context, address string) error {
	if err := s.prepare(); err != nil {
		return err
	}
	path := filepath.Join(s.locks.dir, fmt.Sprintf("runner-%x.lock", sha256.Sum256([]byte(address))))
	tick := time.NewTicker(pollLock)
	defer tick.Stop()
	start := time.Now()
	for waited := false; ; waited = true {
		seat, err := s.locks.tryLock(path)
		if err != nil {
			return err
		}
		if seat != nil {
			s.seat = seat
			return nil
		}
		if !waited {
			s.log.Warn("waiting for the supervisor of an earlier job runner at this address to end its commands", "address", address)
		}
		if time.Since(start) > seatWait {
			s.log.Error("the supervisor of an earlier job runner at this address has not ended; its jobs may run concurrently with their next tries", "address", address)
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
