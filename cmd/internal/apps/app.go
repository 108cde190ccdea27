package apps

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

const appLong = `Shows an app: its definition, its state, its last instance and its next one. The commands
below change it. An app that is declared in the specs is changed there; only pause, resume,
run and undo work on it.`

func appVerb(m *verb.Manager, stdin io.Reader) *cobra.Command {
	c := m.Verb(&cobra.Command{
		Use:   "app NAME",
		Short: "Show an app, or change it",
		Long:  appLong,
		Example: `  treadle app nightly
  treadle app put nightly.yaml
  treadle app run counter --period 2011-01-02-1300-counter`,
		Args: verb.Takes(1, 1, nameArg),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		app, err := api.App(ctx, args[0])
		if err != nil {
			return err
		}
		return showApp(out, app)
	})
	c.AddCommand(appPutVerb(m, stdin), appDeleteVerb(m), appPauseVerb(m, true), appPauseVerb(m, false), appRunVerb(m), appUndoVerb(m))
	return c
}

func showApp(out *term.Out, a proto.AppStatus) error {
	if out.JSON() {
		return out.PrintJSON(a)
	}
	t := out.Table()
	t.Row("name", a.Name)
	t.Row("request", a.Request)
	for _, name := range slices.Sorted(maps.Keys(a.Args)) {
		t.Row("arg "+name, term.Value(a.Args[name]))
	}
	t.Row("starts", starts(a.App))
	for _, row := range appRules(a.App) {
		t.Row(row[0], row[1])
	}
	t.Row("declared", map[string]string{proto.AppFromSpecs: "in the specs", proto.AppFromAPI: "with the API"}[a.Source])
	t.Row("state", appState(a))
	if a.Problem != "" {
		t.Row("problem", a.Problem)
	}
	t.Row("since", a.Since)
	t.Row("next", instanceLine(out, a.Next, a.Next != nil && a.Next.StartedAt == nil))
	t.Row("last", instanceLine(out, a.Last, false))
	return t.Flush()
}

// appRules are the settings that an app has, with their names in specs.
func appRules(a proto.App) [][2]string {
	var rows [][2]string
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, [2]string{name, value})
		}
	}
	add("host", a.Host)
	add("timeout", a.Timeout.String())
	add("deadline", a.Deadline.String())
	add("undo", a.Undo)
	add("failureDelay", a.FailureDelay.String())
	add("missed", a.Missed)
	if a.MissedCap > 0 {
		add("missedCap", fmt.Sprint(a.MissedCap))
	}
	add("overlap", a.Overlap)
	add("jitter", a.Jitter.String())
	add("gap", a.Gap)
	add("fold", a.Fold)
	return rows
}

// instanceLine shows the state of an instance in one line; with due, when it is due.
func instanceLine(out *term.Out, in *proto.Instance, due bool) string {
	if in == nil {
		return term.Dash
	}
	line := in.Name + " " + in.State.String()
	switch {
	case due:
		line = in.Name + " " + out.When(in.Due)
	case in.FinishedAt != nil:
		line += " " + out.When(*in.FinishedAt)
	}
	if in.RequestID != "" {
		line += ", request " + in.RequestID
	}
	if in.Reason != "" {
		line += ": " + term.Short(in.Reason, 200)
	}
	return line
}

func appDeleteVerb(m *verb.Manager) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:   "delete NAME",
		Short: "Delete an app; a running instance still runs to its end",
		Args:  verb.Takes(1, 1, nameArg),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		if err := api.DeleteApp(ctx, args[0]); err != nil {
			return err
		}
		return out.Show(map[string]any{"app": args[0], "deleted": true}, func() error { return out.Printf("%s is deleted\n", term.Clean(args[0])) })
	})
}

func appPauseVerb(m *verb.Manager, pause bool) *cobra.Command {
	use, short, done := "resume NAME", "Resume a paused app", "is resumed"
	if pause {
		use, short, done = "pause NAME", "Pause an app: no instance starts until it is resumed", "is paused"
	}
	return m.Verb(&cobra.Command{
		Use:   use,
		Short: short,
		Args:  verb.Takes(1, 1, nameArg),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		if err := api.PauseApp(ctx, args[0], pause); err != nil {
			return err
		}
		return out.Show(map[string]any{"app": args[0], "paused": pause}, func() error { return out.Printf("%s %s\n", term.Clean(args[0]), done) })
	})
}
