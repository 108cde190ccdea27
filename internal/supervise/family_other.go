//go:build !linux

package supervise

// becomeReaper does nothing where the system has no such thing: what leaves the group
// of its command is not found there.
func becomeReaper() error { return nil }

func reap(func(pid int) bool) {}

func (c *child) living() []member { return nil }
