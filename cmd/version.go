package cmd

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (p *program) versionVerb() *cobra.Command {
	return p.outputVerb(&cobra.Command{
		Use:   "version",
		Short: "Show the version of this program",
		Args:  takes(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			if p.json() {
				return p.printJSON(map[string]string{"version": version(), "go": runtime.Version()})
			}
			return p.printf("treadle %s (%s)\n", version(), runtime.Version())
		},
	})
}

const modulePath = "github.com/treadle-run/treadle"

// version is the version of the Treadle module in this program, which may be a
// program of a user's that imports it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if info.Main.Path == modulePath {
		return info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == modulePath {
			return m.Version
		}
	}
	return "unknown"
}
