package cmd

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
)

func versionVerb(out *term.Out) *cobra.Command {
	return verb.OutputFlag(&cobra.Command{
		Use:   "version",
		Short: "Show the version of this program",
		Args:  verb.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return out.Show(map[string]string{"version": version(), "go": runtime.Version()}, func() error {
				return out.Printf("treadle %s (%s)\n", version(), runtime.Version())
			})
		},
	}, out)
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
