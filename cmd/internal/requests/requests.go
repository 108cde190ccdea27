package requests

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

func requestsVerb(m *verb.Manager) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:   "requests [TYPE]",
		Short: "List the request types that can be started, or the args of one",
		Example: `  treadle requests
  treadle requests deploy`,
		Args: verb.Takes(0, 1, "at most one TYPE"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		if len(args) == 1 {
			return Help(ctx, api, out, args[0])
		}
		specs, err := api.RequestList(ctx)
		if err != nil {
			return err
		}
		return out.Show(specs, func() error { return requests(out, specs) })
	})
}

func requests(out *term.Out, specs []proto.RequestSpec) error {
	if len(specs) == 0 {
		out.Say("this Request Manager has no request types: no sequence in its specs has request: true")
		return nil
	}
	t := out.Table("REQUEST", "ARGS")
	for _, s := range specs {
		t.Row(s.Name, usage(s))
	}
	return t.Flush()
}

// usage is how the args of a request are written: "app=... [version=...]".
func usage(s proto.RequestSpec) string {
	var words []string
	for _, a := range s.Args {
		switch a.Type {
		case proto.ArgRequired:
			words = append(words, a.Name+"=...")
		case proto.ArgOptional:
			words = append(words, "["+a.Name+"=...]")
		}
	}
	return strings.Join(words, " ")
}

// Help shows the args of one request type.
func Help(ctx context.Context, api *client.Client, out *term.Out, requestType string) error {
	spec, err := specOf(ctx, api, requestType)
	if err != nil {
		return err
	}
	return out.Show(spec, func() error { return showSpec(out, spec) })
}

func showSpec(out *term.Out, spec proto.RequestSpec) error {
	if err := out.Printf("%s\n", strings.TrimSpace("treadle start "+spec.Name+" "+usage(spec))); err != nil {
		return err
	}
	if len(spec.Args) == 0 {
		return nil
	}
	if err := out.Printf("\n"); err != nil {
		return err
	}
	t := out.Table("ARG", "KIND", "TYPE", "DEFAULT", "DESCRIPTION")
	for _, a := range spec.Args {
		t.Row(a.Name, a.Type, argTypeText(a), argDefault(a), term.OrDash(a.Desc))
	}
	return t.Flush()
}

func argTypeText(a proto.RequestArg) string {
	s := a.ValueType
	if s == "" {
		s = "any"
	}
	if len(a.Enum) > 0 {
		s += ", one of " + term.Values(a.Enum)
	}
	if a.Pattern != "" {
		s += fmt.Sprintf(", matches %s", a.Pattern)
	}
	if a.Secret {
		s += ", secret"
	}
	return s
}

func argDefault(a proto.RequestArg) string {
	if a.Type == proto.ArgRequired {
		return term.Dash
	}
	if a.Type == proto.ArgStatic && a.Default == nil {
		return term.Value(a.Value)
	}
	return term.Value(a.Default)
}
