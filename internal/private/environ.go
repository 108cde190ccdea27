package private

import (
	"os"
	"strings"
)

// TakeEnvironment takes the variables whose names start with the prefix out of the
// environment of the process, so that neither its children nor who looks at
// /proc/PID/environ sees them, and returns a function that still looks them up, and
// all others too. It is called once, before there are other goroutines.
func TakeEnvironment(prefix string) func(name string) (string, bool) {
	taken := map[string]string{}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, prefix) && os.Unsetenv(name) == nil {
			taken[name] = value
		}
	}
	if len(taken) > 0 {
		scrubEnvironment(prefix)
	}
	return func(name string) (string, bool) {
		if value, ok := taken[name]; ok {
			return value, true
		}
		return os.LookupEnv(name)
	}
}
