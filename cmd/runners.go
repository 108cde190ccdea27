package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

func (p *program) runnersVerb() *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:   "runners",
		Short: "List the Job Runners",
		Args:  takes(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			runners, err := api.Runners(c.Context())
			if err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(runners)
			}
			return p.runners(runners)
		},
	})
}

func (p *program) runners(list []proto.Runner) error {
	if len(list) == 0 {
		p.say("no Job Runner is registered: requests stay PENDING until one is")
		return nil
	}
	t := newTable(p.stdout, "ID", "URL", "HOST", "PID", "RUNNING", "STATE", "LABELS", "HEARD OF", "VERSION")
	for _, r := range list {
		state := "up"
		if r.Draining {
			state = "draining"
		}
		t.row(r.ID, r.URL, r.Host, fmt.Sprint(r.PID), load(r), state, labels(r.Labels), p.when(r.HeartbeatAt), orDash(r.Version))
	}
	return t.flush()
}

// load is how many chains a runner has, of how many it takes.
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
	return orDash(strings.Join(out, ","))
}
