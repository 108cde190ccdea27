package builtin

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// reserved starts the names of variables that Treadle itself sets or reads.
const reserved = "TREADLE_"

// maxVariable is the limit of Linux, in bytes, for one argument or one variable
// of a program, its end marker left out.
const maxVariable = 128<<10 - 1

// maxArguments is for all arguments of a program together, and for all args that become
// variables, in bytes. By default Linux allows 2 MiB for arguments and environment.
const maxArguments = 768 << 10

// serviceVariables belong to the runner as a service of systemd. A command that
// had them would speak for the runner.
var serviceVariables = []string{"NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID", "WATCHDOG_PID", "WATCHDOG_USEC"}

// environ returns the environment of a try: what the runner has, the job data as far
// as it fits, the args and what Treadle says of the try (own), each over the ones
// before it. Omitted has the names of job data for which there was no room, sorted.
func environ(argv []string, args, data job.Values, own map[string]string) (env, omitted []string) {
	vars := inherited(os.Environ())
	fixed := map[string]string{}
	for name, x := range args {
		if v := proto.Text(x); isVariable(name, v) {
			fixed[name] = v
		}
	}
	maps.Copy(fixed, own)

	room := systemLimit() - systemReserve
	for _, element := range argv {
		room -= sizeOf(element)
	}
	for _, vars := range []map[string]string{vars, fixed} {
		for name, value := range vars {
			room -= sizeOf(name) + len(value) + 1
		}
	}
	omitted = addData(vars, fixed, data, min(room, maxDataVariables))
	maps.Copy(vars, fixed)

	env = make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env, omitted
}

// Limits of the environment, in bytes.
const (
	// maxDataVariables is for all job data together. It leaves room for the arguments of
	// programs that the command starts: they inherit its environment.
	maxDataVariables = 512 << 10
	// systemReserve is for what the system itself puts beside arguments and environment.
	systemReserve = 16 << 10
)

// sizeOf is what one argument or variable takes of the limit of the system.
func sizeOf(text string) int { return len(text) + 1 + 8 } // an end marker and a pointer

// addData adds job data to vars, except what fixed has, as long as there is room: the
// smallest values first, so that most of them fit; of those of one size the first by
// name. It returns the names of the others.
func addData(vars, fixed map[string]string, data job.Values, room int) (omitted []string) {
	type variable struct {
		name, value string
		size        int
	}
	var all []variable
	for name, x := range data {
		if _, ok := fixed[name]; ok || !dataMaySet(name) {
			continue
		}
		if v := proto.Text(x); isVariable(name, v) {
			all = append(all, variable{name, v, sizeOf(name) + 1 + len(v)})
		}
	}
	slices.SortFunc(all, func(a, b variable) int {
		return cmp.Or(cmp.Compare(a.size, b.size), strings.Compare(a.name, b.name))
	})
	for _, v := range all {
		if room -= v.size; room < 0 {
			delete(vars, v.name) // one of the runner must not pass for it
			omitted = append(omitted, v.name)
			continue
		}
		vars[v.name] = v.value
	}
	slices.Sort(omitted)
	return omitted
}

// inherited returns the variables of the runner that a command gets: all but its
// configuration, which holds secrets, what belongs to it as a service, and where it was.
func inherited(vars []string) map[string]string {
	env := make(map[string]string, len(vars)+16)
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		if name != "" && name != "OLDPWD" && !strings.HasPrefix(name, reserved) && !slices.Contains(serviceVariables, name) {
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
// anywhere; these say which programs run and where, and are for the author of a spec alone.
func dataMaySet(name string) bool {
	switch name {
	case "PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PWD", "OLDPWD":
		return false
	}
	return !strings.HasPrefix(name, "LD_") && !strings.HasPrefix(name, "DYLD_")
}

// checkVariables returns an ArgError for the first arg, by name, that a command
// cannot get in its environment. Names that no variable can have are an error
// only if strict.
func checkVariables(args job.Values, strict bool) error {
	size := 0
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
		if size += sizeOf(name) + 1 + len(value); size > maxArguments {
			return job.ArgErrorf(name, "the args up to this one have %d bytes, at most %d can be given to a program", size, maxArguments)
		}
	}
	return nil
}
