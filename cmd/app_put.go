package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/treadle-run/treadle/proto"
)

// maxAppFile bounds what app put reads, in bytes.
const maxAppFile = 8 << 20

func (p *program) appPutVerb() *cobra.Command {
	return p.clientVerb(&cobra.Command{
		Use:   "put FILE",
		Short: "Make an app, or change it",
		Long: `Makes an app or replaces it. FILE is YAML or JSON with one app, - is stdin: the fields
are those of an app in the specs, and name.`,
		Example: `  treadle app put nightly.yaml
  echo '{name: nightly, request: backup, cron: "30 2 * * *"}' | treadle app put -`,
		Args: takes(1, 1, "the FILE with the app, - for stdin"),
		RunE: func(c *cobra.Command, args []string) error {
			app, err := p.readApp(args[0])
			if err != nil {
				return err
			}
			api, err := p.client()
			if err != nil {
				return err
			}
			status, err := api.PutApp(c.Context(), app)
			if err != nil {
				return err
			}
			return p.showApp(status)
		},
	})
}

// readApp reads one app. JSON is YAML, too.
func (p *program) readApp(path string) (app proto.App, err error) {
	text, err := p.readInput(path)
	if err != nil {
		return app, err
	}
	if path == "-" {
		path = "stdin"
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var x any
	if err := d.Decode(&x); err != nil {
		return app, usageErrorf("%s: %s", path, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if _, ok := x.(map[string]any); !ok {
		return app, usageErrorf("%s: expected the fields of one app, such as name and request", path)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return app, usageErrorf("%s: expected one app, found another document", path)
	}
	asJSON, err := proto.EncodeValue(x)
	if err != nil {
		return app, usageErrorf("%s: %v", path, err)
	}
	strict := json.NewDecoder(bytes.NewReader(asJSON))
	strict.DisallowUnknownFields()
	var input proto.AppInput
	if err := strict.Decode(&input); err != nil {
		return app, usageErrorf("%s: %s", path, appMistake(err))
	}
	if app, err = input.Definition(); err != nil {
		return app, usageErrorf("%s: %s", path, message(err))
	}
	if app.Name == "" {
		return app, usageErrorf("%s: name is missing", path)
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

// readInput reads a file, or stdin for "-".
func (p *program) readInput(path string) ([]byte, error) {
	in := p.stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, usageErrorf("%w", err)
		}
		defer file.Close() //nolint:errcheck // it was only read
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxAppFile+1))
	if err != nil {
		return nil, usageErrorf("%s: %w", path, err)
	}
	if len(text) > maxAppFile {
		return nil, usageErrorf("%s: larger than %d MiB", path, maxAppFile>>20)
	}
	return text, nil
}
