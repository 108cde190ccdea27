package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/config"
	"github.com/treadle-run/treadle/request-manager/app"
	"github.com/treadle-run/treadle/request-manager/store"
)

func (p *program) migrateVerb() *cobra.Command {
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database to the schema of this program, or show where it is",
		Long: `A Request Manager migrates its database when it starts; migrate does it apart, and
shows how far the database is. Migrations only go forward.`,
		Example: `  treadle migrate status --config request-manager.yaml
  treadle migrate up --config request-manager.yaml`,
		Args: takes(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		p.migrateStep("up", "Migrate the database to the newest schema", p.migrateUp),
		p.migrateStep("status", "Show the schema of the database; exits 1 if it is not the newest", p.migrateStatus),
	)
	return c
}

// migrateStep is one of the verbs below migrate: it does step on the database of
// the configuration.
func (p *program) migrateStep(use, short string, step func(context.Context, *store.Store) error) *cobra.Command {
	var path string
	return p.outputVerb(configFlag(&cobra.Command{
		Use:   use,
		Short: short,
		Args:  takes(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg := app.Default()
			if err := config.LoadEnv(p.configFile(path), p.lookup, &cfg); err != nil {
				return usageErrorf("%w", err)
			}
			if err := errors.Join(cfg.ValidateDatabase(), cfg.Log.Validate()); err != nil {
				return usageErrorf("the configuration is not valid:\n%w", err)
			}
			db, err := app.OpenStore(c.Context(), cfg, cfg.Log.Logger(p.stderr))
			if err != nil {
				return err
			}
			return errors.Join(step(c.Context(), db), db.Close())
		},
	}, &path))
}

func (p *program) migrateUp(ctx context.Context, db *store.Store) error {
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	return p.migrateStatus(ctx, db)
}

func (p *program) migrateStatus(ctx context.Context, db *store.Store) error {
	current, newest, dirty, err := db.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	if p.json() {
		err = p.printJSON(map[string]any{"current": current, "newest": newest, "dirty": dirty})
	} else {
		err = p.printf("%s\n", migrationText(current, newest, dirty))
	}
	if err == nil && (dirty || current < newest) {
		return silentExit(exitFailed)
	}
	return err
}

func migrationText(current, newest uint, dirty bool) string {
	s := fmt.Sprintf("schema version %d, newest %d: ", current, newest)
	switch {
	case dirty:
		return s + "a migration ended in the middle; restore the backup, then treadle migrate up"
	case current < newest:
		return s + "to be migrated with treadle migrate up"
	case current > newest:
		return s + "the database was migrated by a newer treadle"
	}
	return s + "up to date"
}
