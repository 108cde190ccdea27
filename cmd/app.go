package cmd

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

const appLong = `Shows an app: how it is defined, whether it runs, its last instance and its next one.
The verbs below it change it. An app that the specs declare is changed there: only
pause, resume and run work on it.`

func (p *program) appVerb() *cobra.Command {
	c := p.clientVerb(&cobra.Command{
		Use:   "app NAME",
		Short: "Show an app, or change it",
		Long:  appLong,
		Example: `  treadle app nightly
  treadle app put nightly.yaml
  treadle app run counter --period 2011-01-02-1300-counter`,
		Args: takes(1, 1, "the NAME of the app; treadle apps lists them"),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			app, err := api.App(c.Context(), args[0])
			if err != nil {
				return err
			}
			return p.showApp(app)
		},
	})
	c.AddCommand(p.appPutVerb(), p.appDeleteVerb(), p.appPauseVerb(true), p.appPauseVerb(false), p.appRunVerb(), p.appUndoVerb())
	return c
}

func (p *program) showApp(a proto.AppStatus) error {
	if p.json() {
		return p.printJSON(a)
	}
	t := newTable(p.stdout)
	t.row("name", a.Name)
	t.row("request", a.Request)
	for _, name := range slices.Sorted(maps.Keys(a.Args)) {
		t.row("arg "+name, value(a.Args[name]))
	}
	t.row("starts", starts(a.App))
	for _, row := range appRules(a.App) {
		t.row(row[0], row[1])
	}
	t.row("declared", map[string]string{proto.AppFromSpecs: "in the specs", proto.AppFromAPI: "with the API"}[a.Source])
	t.row("state", appState(a))
	if a.Problem != "" {
		t.row("problem", a.Problem)
	}
	t.row("since", p.when(a.Since))
	t.row("next", p.instanceLine(a.Next, a.Next != nil && a.Next.StartedAt == nil))
	t.row("last", p.instanceLine(a.Last, false))
	return t.flush()
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

// instanceLine says in one line how an instance stands; due is whether its time is
// what counts.
func (p *program) instanceLine(in *proto.Instance, due bool) string {
	if in == nil {
		return dash
	}
	line := in.Name + " " + in.State.String()
	switch {
	case due:
		line = in.Name + " " + p.when(in.Due)
	case in.FinishedAt != nil:
		line += " " + p.when(*in.FinishedAt)
	}
	if in.RequestID != "" {
		line += ", request " + in.RequestID
	}
	if in.Reason != "" {
		line += ": " + short(in.Reason, 200)
	}
	return line
}

func (p *program) appDeleteVerb() *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:   "delete NAME",
		Short: "Remove an app; what runs of it ends",
		Args:  takes(1, 1, "the NAME of the app"),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			if err := api.DeleteApp(c.Context(), args[0]); err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(map[string]any{"app": args[0], "deleted": true})
			}
			return p.printf("%s is deleted\n", clean(args[0]))
		},
	})
}

func (p *program) appPauseVerb(pause bool) *cobra.Command {
	use, short, done := "resume NAME", "Let a paused app go on", "goes on"
	if pause {
		use, short, done = "pause NAME", "Keep an app from starting instances", "is paused"
	}
	return p.clientVerb(&cobra.Command{
		Use:   use,
		Short: short,
		Args:  takes(1, 1, "the NAME of the app"),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			if err := api.PauseApp(c.Context(), args[0], pause); err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(map[string]any{"app": args[0], "paused": pause})
			}
			return p.printf("%s %s\n", clean(args[0]), done)
		},
	})
}
