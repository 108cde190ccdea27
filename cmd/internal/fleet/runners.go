package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

func runnersVerb(m *verb.Manager) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:   "runners",
		Short: "List Job Runners",
		Args:  verb.NoArgs,
	}, func(ctx context.Context, api *client.Client, out *term.Out, _ []string) error {
		list, err := api.Runners(ctx)
		if err != nil {
			return err
		}
		return out.Show(list, func() error { return runners(out, list) })
	})
}

func runners(out *term.Out, list []proto.Runner) error {
	if len(list) == 0 {
		out.Say("no Job Runner is registered; requests stay PENDING until one is")
		return nil
	}
	t := out.Table("ID", "URL", "HOST", "PID", "RUNNING", "STATE", "LABELS", "LAST SEEN", "VERSION")
	for _, r := range list {
		state := "up"
		if r.Draining {
			state = "draining"
		}
		t.Row(r.ID, r.URL, r.Host, fmt.Sprint(r.PID), load(r), state, labels(r.Labels), out.When(r.HeartbeatAt), term.OrDash(r.Version))
	}
	return t.Flush()
}

// load is how many job chains a runner has, of how many it accepts.
func load(r proto.Runner) string {
	if r.Capacity == 0 {
		return fmt.Sprint(len(r.Running))
	}
	return fmt.Sprintf("%d/%d", len(r.Running), r.Capacity)
}

func labels(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return term.OrDash(strings.Join(out, ","))
}
