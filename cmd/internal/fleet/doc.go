// Package fleet has the verbs of Job Runners: list them, drain one. A file has a verb.
package fleet

import (
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/verb"
)

// Verbs returns the verbs of Job Runners.
func Verbs(m *verb.Manager) []*cobra.Command {
	return []*cobra.Command{runnersVerb(m), drainVerb(m)}
}
