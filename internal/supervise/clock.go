package supervise

import (
	"time"

	"golang.org/x/sys/unix"
)

// instant is a time in nanoseconds on a clock that all processes of the machine
// share and nobody can set. Where the system has such a clock it goes on while the
// machine sleeps.
type instant int64

func now() instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(clockID, &ts); err != nil {
		return 0 // it cannot fail for a clock that exists; 0 gives no right to run
	}
	return instant(ts.Nano())
}

// instantOf returns the instant of a time. If the process is frozen meanwhile it
// is too early, never too late.
func instantOf(t time.Time) instant {
	i := now()
	return i + instant(time.Until(t))
}

func (i instant) left() time.Duration { return time.Duration(i - now()) }
