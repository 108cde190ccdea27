//go:build unix && !linux

package private

// Hide does nothing here.
func Hide() error { return nil }

// scrubEnvironment does nothing here: the system may still show the variables to
// processes of the same user.
func scrubEnvironment(string) {}
