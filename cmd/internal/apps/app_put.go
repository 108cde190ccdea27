package apps

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

// maxAppFile bounds the definition that app put reads, in bytes.
const maxAppFile = 8 << 20

func appPutVerb(m *verb.Manager, stdin io.Reader) *cobra.Command {
	return m.Verb(&cobra.Command{
		Use:   "put FILE",
		Short: "Create or replace an app",
		Long: `Creates an app, or replaces it. FILE (- for stdin) is YAML or JSON with one app: its name,
and the fields that an app has in the specs.`,
		Example: `  treadle app put nightly.yaml
  echo '{name: nightly, request: backup, cron: "30 2 * * *"}' | treadle app put -`,
		Args: verb.Takes(1, 1, "the FILE with the app, - for stdin"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		app, err := readApp(stdin, args[0])
		if err != nil {
			return err
		}
		status, err := api.PutApp(ctx, app)
		if err != nil {
			return err
		}
		return showApp(out, status)
	})
}

// readApp reads the definition of one app. JSON is YAML, too.
func readApp(stdin io.Reader, path string) (app proto.App, err error) {
	text, err := verb.ReadInput(stdin, path, maxAppFile)
	if err != nil {
		return app, verb.Usagef("%w", err)
	}
	if path == "-" {
		path = "stdin"
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var x any
	if err := d.Decode(&x); err != nil {
		return app, verb.Usagef("%s: %s", path, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if _, ok := x.(map[string]any); !ok {
		return app, verb.Usagef("%s: expected the fields of one app, such as name and request", path)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return app, verb.Usagef("%s: expected one app, found another document", path)
	}
	asJSON, err := proto.EncodeValue(x)
	if err != nil {
		return app, verb.Usagef("%s: %v", path, err)
	}
	strict := json.NewDecoder(bytes.NewReader(asJSON))
	strict.DisallowUnknownFields()
	var input proto.AppInput
	if err := strict.Decode(&input); err != nil {
		return app, verb.Usagef("%s: %s", path, appMistake(err))
	}
	if app, err = input.Definition(); err != nil {
		return app, verb.Usagef("%s: %s", path, verb.Message(err))
	}
	if app.Name == "" {
		return app, verb.Usagef("%s: name is missing", path)
	}
	return app, nil
}

// appMistake says what is wrong with a definition, in the words of its fields.
func appMistake(err error) string {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s: a %s does not fit", t.Field, t.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
