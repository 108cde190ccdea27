// Package apps has the verbs of recurring work: apps, their periods, instances and
// events, and the members that run them. A file has a verb.
package apps

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
)

// Verbs returns the verbs of recurring work. A definition may come from stdin;
// specApp reads an app out of a directory of specs.
func Verbs(m *verb.Manager, out *term.Out, stdin io.Reader, specApp SpecApp) []*cobra.Command {
	return []*cobra.Command{
		appsVerb(m), appVerb(m, stdin), periodsVerb(m), blockedVerb(m), instancesVerb(m), eventsVerb(m), scheduleVerb(m, out, specApp),
	}
}

// nameArg is the argument that names an app.
const nameArg = "the NAME of the app; treadle apps lists them"
