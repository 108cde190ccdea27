package builtin

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// reserved starts the names of variables that Treadle itself sets or reads.
const reserved = "TREADLE_"

// maxVariable is the limit of Linux, in bytes, for one argument or one variable
// of a program, its end marker left out.
const maxVariable = 128<<10 - 1

// serviceVariables belong to the runner as a service of systemd. A command that
// had them would speak for the runner.
var serviceVariables = []string{"NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID", "WATCHDOG_PID", "WATCHDOG_USEC"}

// environ returns the environment of a try: what the runner has, the job data,
// the args and what Treadle says of the try, each over the ones before it.
func environ(info *job.Info, args, data job.Values, outputs string) []string {
	env := inherited(os.Environ())
	for name, x := range data {
		if v := proto.Text(x); dataMaySet(name) && isVariable(name, v) {
			env[name] = v
		}
	}
	for name, x := range args {
		if v := proto.Text(x); isVariable(name, v) {
			env[name] = v
		}
	}
	env["TREADLE_REQUEST_ID"] = info.RequestID
	env["TREADLE_JOB_ID"] = info.JobID
	env["TREADLE_TRY"] = strconv.FormatUint(uint64(info.Try), 10)
	env["TREADLE_EPOCH"] = strconv.FormatUint(info.Epoch, 10)
	env["TREADLE_OUTPUT"] = outputs

	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// inherited returns the variables of the runner that a command gets: all but its
// configuration, which holds secrets, and what belongs to it as a service.
func inherited(vars []string) map[string]string {
	env := make(map[string]string, len(vars)+16)
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		if name != "" && !strings.HasPrefix(name, reserved) && !slices.Contains(serviceVariables, name) {
			env[name] = value
		}
	}
	return env
}

// isVariable reports whether a variable of the environment can have this name
// and this value.
func isVariable(name, value string) bool {
	return isVariableName(name) && !strings.HasPrefix(name, reserved) &&
		!strings.Contains(value, "\x00") && len(name)+1+len(value) <= maxVariable
}

// isVariableName reports whether a shell takes name as that of a variable.
func isVariableName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// dataMaySet reports whether job data may set a variable. Data may come from
// anywhere; these say which programs run, and are for the author of a spec alone.
func dataMaySet(name string) bool {
	switch name {
	case "PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4":
		return false
	}
	return !strings.HasPrefix(name, "LD_") && !strings.HasPrefix(name, "DYLD_")
}

// checkVariables returns an ArgError for the first arg, by name, that a command
// cannot get in its environment. Names that no variable can have are an error
// only if strict.
func checkVariables(args job.Values, strict bool) error {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value := proto.Text(args[name])
		switch {
		case strings.HasPrefix(name, reserved):
			return job.ArgErrorf(name, "names that start with %s are reserved for Treadle", reserved)
		case strict && !isVariableName(name):
			return job.ArgErrorf(name, "expected a name that a shell variable can have: letters, digits and _, not a digit first")
		case strings.Contains(value, "\x00"):
			return job.ArgErrorf(name, "has a NUL byte, which no program can be given")
		case len(name)+1+len(value) > maxVariable:
			return job.ArgErrorf(name, "has %d bytes, at most %d can be given to a program", len(value), maxVariable-len(name)-1)
		}
	}
	return nil
}
