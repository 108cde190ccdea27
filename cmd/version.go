package cmd

import (
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/cmd/internal/version"
)

func versionVerb(out *term.Out) *cobra.Command {
	return verb.OutputFlag(&cobra.Command{
		Use:   "version",
		Short: "Show the version of this program, and how it was built",
		Args:  verb.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version.Get()
			return out.Show(v, func() error { return out.Printf("%s\n", v) })
		},
	}, out)
}
