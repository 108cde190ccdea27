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
	return verb.List(m, &cobra.Command{
		Use:   "runners",
		Short: "List Job Runners",
		Args:  verb.NoArgs,
	}, verb.Listing[proto.Runner]{
		Ask: func(ctx context.Context, api *client.Client, _ []string) ([]proto.Runner, error) {
			return api.Runners(ctx)
		},
		None:     "no Job Runner is registered; requests stay PENDING until one is",
		Header:   []string{"URL", "HOST", "STATE", "RUNNING", "LAST SEEN", "PID", "VERSION", "ID", "LABELS"},
		Optional: []string{"VERSION", "PID", "ID"},
		Row: func(r proto.Runner) []any {
			state := "up"
			if r.Draining {
				state = "draining"
			}
			return []any{r.URL, r.Host, state, load(r), r.HeartbeatAt, r.PID, term.OrDash(r.Version), r.ID, labels(r.Labels)}
		},
	})
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
	return term.OrDash(strings.Join(out, ", "))
}
