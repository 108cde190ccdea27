//go:build unix && !linux

package private

// Hide does nothing here: the system lets no other process of the user read the
// environment.
func Hide() error { return nil }

func scrubEnvironment(string) {}
