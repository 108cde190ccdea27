package apps

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

// appsPage is how many apps are asked for at a time.
const appsPage = 1000

func appsVerb(m *verb.Manager) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:   "apps",
		Short: "List apps: recurring work",
		Args:  verb.NoArgs,
	}, func(ctx context.Context, api *client.Client, out *term.Out, _ []string) error {
		list, err := allApps(ctx, api)
		if err != nil {
			return err
		}
		return out.Show(list, func() error { return apps(out, list) })
	})
}

func allApps(ctx context.Context, api *client.Client) ([]proto.AppStatus, error) {
	all, after := []proto.AppStatus{}, ""
	for {
		page, err := api.Apps(ctx, after, appsPage)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < appsPage {
			return all, nil
		}
		after = page[len(page)-1].Name
	}
}

func apps(out *term.Out, list []proto.AppStatus) error {
	if len(list) == 0 {
		out.Say("there are no apps; declare one in the specs, or create one with treadle app put")
		return nil
	}
	t := out.Table("NAME", "REQUEST", "STARTS", "HOST", "STATE", "FROM", "PROBLEM")
	for _, a := range list {
		t.Row(a.Name, a.Request, starts(a.App), term.OrDash(a.Host), appState(a), a.Source, term.OrDash(a.Problem))
	}
	return t.Flush()
}

// starts says in a few words when an app starts.
func starts(a proto.App) string {
	var s string
	switch {
	case a.Every != 0:
		s = "every " + a.Every.String()
	case a.Cron != "":
		s = a.Cron
	case a.Starts != "":
		s = a.Starts
	default:
		names := slices.Sorted(maps.Keys(a.Depends))
		if len(names) == 0 {
			return term.Dash
		}
		s = fmt.Sprintf("after %s, %s", strings.Join(names, " and "), a.Depends[names[0]])
	}
	if a.Timezone != "" {
		s += " " + a.Timezone
	}
	return s
}

func appState(a proto.AppStatus) string {
	switch {
	case a.Paused && a.Running > 0:
		return fmt.Sprintf("paused, %d running", a.Running)
	case a.Paused:
		return "paused"
	case a.Running > 0:
		return fmt.Sprintf("%d running", a.Running)
	}
	return "idle"
}
