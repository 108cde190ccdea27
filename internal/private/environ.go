package private

import (
	"os"
	"strings"
)

// ForgetEnvironment takes the variables whose names start with the prefix out of the
// environment of the process, so that neither its children nor who looks at
// /proc/PID/environ sees them. Who needs them has read them before. It is called
// before there are other goroutines.
func ForgetEnvironment(prefix string) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, prefix) {
			_ = os.Unsetenv(name) // a name that was there is one that can be unset
		}
	}
	scrubEnvironment(prefix)
}
