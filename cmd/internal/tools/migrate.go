package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/request-manager/app"
)

// MigrateVerb migrates the database, or shows its schema version.
func MigrateVerb(env verb.Environment, out *term.Out) *cobra.Command {
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database to the schema of this program, or show its schema version",
		Long: `Migrates the database without a Request Manager, which otherwise does it when it
starts, or shows the schema version of the database. Migrations only go forward.`,
		Example: `  treadle migrate status --config request-manager.yaml
  treadle migrate up --config request-manager.yaml`,
		Args: verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		migrateStep(env, out, "up", "Migrate the database to the newest schema", migrateUp),
		migrateStep(env, out, "status", "Show the schema version of the database; exits 1 if it is not the newest", migrateStatus),
	)
	return c
}

// migrateStep is one of the verbs below migrate. It runs step on the database of the
// configuration.
func migrateStep(env verb.Environment, out *term.Out, use, short string, step func(context.Context, *term.Out, *database.DB) error) *cobra.Command {
	var path string
	return verb.OutputFlag(verb.ConfigFlag(&cobra.Command{
		Use:   use,
		Short: short,
		Args:  verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg := app.Default()
			validate := func(c app.Config) error { return errors.Join(c.ValidateDatabase(), c.Log.Validate()) }
			if err := verb.LoadConfig(env, path, &cfg, validate); err != nil {
				return err
			}
			db, err := app.OpenDatabase(c.Context(), cfg, cfg.Log.Logger(out.Stderr))
			if err != nil {
				return err
			}
			return errors.Join(step(c.Context(), out, db), db.Close())
		},
	}, &path), out)
}

func migrateUp(ctx context.Context, out *term.Out, db *database.DB) error {
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	return migrateStatus(ctx, out, db)
}

func migrateStatus(ctx context.Context, out *term.Out, db *database.DB) error {
	current, newest, dirty, err := db.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	if out.JSON() {
		err = out.PrintJSON(map[string]any{"current": current, "newest": newest, "dirty": dirty})
	} else {
		err = out.Printf("%s\n", migrationText(current, newest, dirty))
	}
	if err == nil && (dirty || current < newest) {
		return verb.Exit(verb.ExitFailed)
	}
	return err
}

func migrationText(current, newest uint, dirty bool) string {
	s := fmt.Sprintf("schema version %d, newest %d: ", current, newest)
	switch {
	case dirty:
		return s + "a migration was interrupted; restore the backup, then run treadle migrate up"
	case current < newest:
		return s + "out of date; run treadle migrate up"
	case current > newest:
		return s + "warning: a newer treadle migrated the database; upgrade this one"
	}
	return s + "up to date"
}
