package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

func (p *program) requestsVerb() *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:   "requests [TYPE]",
		Short: "List what can be asked for, or the args of one request",
		Example: `  treadle requests
  treadle requests deploy`,
		Args: takes(0, 1, "at most one TYPE"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return p.requestHelp(c.Context(), args[0])
			}
			api, err := p.client()
			if err != nil {
				return err
			}
			specs, err := api.RequestList(c.Context())
			if err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(specs)
			}
			return p.requests(specs)
		},
	})
}

func (p *program) requests(specs []proto.RequestSpec) error {
	if len(specs) == 0 {
		p.say("this Request Manager serves no requests: no sequence in its specs has request: true")
		return nil
	}
	t := newTable(p.stdout, "REQUEST", "ARGS")
	for _, s := range specs {
		t.row(s.Name, usage(s))
	}
	return t.flush()
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

// requestHelp shows the args of one request.
func (p *program) requestHelp(ctx context.Context, name string) error {
	api, err := p.client()
	if err != nil {
		return err
	}
	specs, err := api.RequestList(ctx)
	if err != nil {
		return err
	}
	spec, err := specOf(specs, name, requestsVerbHint)
	if err != nil {
		return err
	}
	if p.json() {
		return p.printJSON(spec)
	}
	if err := p.printf("%s\n", strings.TrimSpace("treadle start "+spec.Name+" "+usage(spec))); err != nil {
		return err
	}
	if len(spec.Args) == 0 {
		return nil
	}
	if err := p.printf("\n"); err != nil {
		return err
	}
	t := newTable(p.stdout, "ARG", "KIND", "TYPE", "DEFAULT", "DESCRIPTION")
	for _, a := range spec.Args {
		t.row(a.Name, a.Type, argTypeText(a), argDefault(a), orDash(a.Desc))
	}
	return t.flush()
}

func argTypeText(a proto.RequestArg) string {
	s := a.ValueType
	if s == "" {
		s = "any"
	}
	if len(a.Enum) > 0 {
		s += ", one of " + enum(a.Enum)
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
		return dash
	}
	if a.Type == proto.ArgStatic && a.Default == nil {
		return value(a.Value)
	}
	return value(a.Default)
}
