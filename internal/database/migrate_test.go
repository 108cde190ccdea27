package database_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/migrations"
)

func TestMigrateFromManyProcessesAtOnce(t *testing.T) {
	databasetest.EachConfig(t, func(t *testing.T, cfg database.Config) {
		var g errgroup.Group
		for range 6 {
			s, err := database.Open(t.Context(), cfg)
			testkit.Must(t, err)
			defer s.Close()
			g.Go(func() error { return s.Migrate(t.Context()) })
		}
		testkit.Must(t, g.Wait())
		s := databasetest.Open(t, cfg)
		current, newest, dirty, err := s.MigrationStatus(t.Context())
		testkit.Must(t, err)
		if current != newest || newest == 0 || dirty {
			t.Errorf("at step %d of %d, dirty %v", current, newest, dirty)
		}
	})
}

func TestMigrationStatusOfAnEmptyDatabase(t *testing.T) {
	databasetest.EachConfig(t, func(t *testing.T, cfg database.Config) {
		s, err := database.Open(t.Context(), cfg)
		testkit.Must(t, err)
		defer s.Close()
		current, newest, dirty, err := s.MigrationStatus(t.Context())
		testkit.Must(t, err)
		if current != 0 || newest == 0 || dirty {
			t.Errorf("at step %d of %d, dirty %v", current, newest, dirty)
		}
	})
}

// TestBothDialectsHaveTheSameSchema compares the names of tables, columns and
// indexes, and which columns may be null.
func TestBothDialectsHaveTheSameSchema(t *testing.T) {
	databasetest.EachConfig(t, func(t *testing.T, cfg database.Config) {
		want := sqliteSchema(t)
		s := databasetest.Open(t, cfg)
		got := sqliteSchema(t)
		if s.Dialect == &database.MySQLDialect {
			got = mysqlSchema(t, s)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("sqlite (-), mysql (+):\n%s", d)
		}
	})
}

func sqliteSchema(t *testing.T) []string {
	t.Helper()
	lite := databasetest.Open(t, database.Config{SQLitePath: database.MemoryPath})
	names, err := lite.Query(`SELECT m.name || '.' || c.name || CASE WHEN c."notnull" THEN '' ELSE ' null' END
		FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT IN ('schema_migrations', 'sqlite_sequence')
		UNION ALL SELECT tbl_name || ' index ' || name FROM sqlite_master
		WHERE type = 'index' AND sql IS NOT NULL AND tbl_name <> 'schema_migrations'`).Strings(t.Context(), lite.Reader)
	testkit.Must(t, err)
	slices.Sort(names)
	for _, want := range []string{"requests.request_id", "requests.finished_at null", "job_log index job_log_job"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %s", want, strings.Join(names, ", "))
		}
	}
	return names
}

func mysqlSchema(t *testing.T, s *database.DB) []string {
	t.Helper()
	names, err := s.Query(`SELECT CONCAT(table_name, '.', column_name, IF(is_nullable = 'YES', ' null', ''))
		FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name <> 'schema_migrations'
		UNION ALL SELECT DISTINCT CONCAT(table_name, ' index ', index_name) FROM information_schema.statistics
		WHERE table_schema = DATABASE() AND table_name <> 'schema_migrations' AND index_name <> 'PRIMARY'`).Strings(t.Context(), s.Reader)
	testkit.Must(t, err)
	slices.Sort(names)
	return names
}

// TestNamesChangeAndRowsStay migrates a database in use from the second step.
func TestNamesChangeAndRowsStay(t *testing.T) {
	databasetest.EachConfig(t, func(t *testing.T, cfg database.Config) {
		db := atStep(t, cfg, 2)
		for _, insert := range []string{
			"INSERT INTO suspended_job_chains (request_id, rm_host, claimed_at, suspended_at, updated_at, sjc) VALUES ('r1', 'rm-1', 4, 3, 3, 'x')",
			"INSERT INTO suspended_job_chains (request_id, suspended_at, updated_at, sjc) VALUES ('r2', 3, 3, 'y')",
			"INSERT INTO schedule_nodes (node_id, host, pid, version, started_at, heartbeat_at, stale_after) VALUES ('m1', 'h', 7, 'v', 1, 2, 3)",
		} {
			_, err := db.Writer.ExecContext(t.Context(), insert)
			testkit.Must(t, err)
		}
		testkit.Must(t, db.Migrate(t.Context()))
		current, newest, dirty, err := db.MigrationStatus(t.Context())
		if err != nil || current != newest || dirty {
			t.Errorf("at step %d of %d, dirty %v: %v", current, newest, dirty, err)
		}
		for query, want := range map[string][]string{
			"SELECT claimed_by FROM suspended_job_chains WHERE claimed_by IS NOT NULL":                                    {"rm-1"},
			"SELECT request_id FROM suspended_job_chains ORDER BY request_id":                                             {"r1", "r2"},
			"SELECT member_id FROM schedule_members WHERE host = 'h' AND pid = 7 AND started_at = 1 AND heartbeat_at = 2": {"m1"},
		} {
			got, err := db.Query(query).Strings(t.Context(), db.Reader)
			testkit.Must(t, err)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want, +got): %s", query, d)
			}
		}
	})
}

// atStep opens a new database whose schema is at that step.
func atStep(t *testing.T, cfg database.Config, step int) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), cfg)
	testkit.Must(t, err)
	t.Cleanup(func() { testkit.Must(t, db.Close()) })
	files, pool := migrations.SQLite(), db.Writer
	if cfg.MySQLDSN != "" {
		config, err := mysql.ParseDSN(cfg.MySQLDSN)
		testkit.Must(t, err)
		config.MultiStatements = true
		pool, err = sql.Open("mysql", config.FormatDSN())
		testkit.Must(t, err)
		defer pool.Close()
		files = migrations.MySQL()
	}
	names, err := fs.Glob(files, "*.up.sql")
	testkit.Must(t, err)
	slices.Sort(names)
	for _, name := range names[:step] {
		text, err := fs.ReadFile(files, name)
		testkit.Must(t, err)
		_, err = pool.ExecContext(t.Context(), string(text))
		testkit.Must(t, err)
	}
	for _, stmt := range []string{
		"CREATE TABLE schema_migrations (version BIGINT NOT NULL PRIMARY KEY, dirty BOOLEAN NOT NULL)",
		fmt.Sprintf("INSERT INTO schema_migrations VALUES (%d, 0)", step),
	} {
		_, err := pool.ExecContext(t.Context(), stmt)
		testkit.Must(t, err)
	}
	return db
}

// TestTheSecondStepCanRunAgain as it does where two nodes of a cluster migrate.
func TestTheSecondStepCanRunAgain(t *testing.T) {
	databasetest.EachConfig(t, func(t *testing.T, cfg database.Config) {
		s := databasetest.Open(t, cfg)
		if s.Dialect == &database.SQLiteDialect {
			return // processes take turns
		}
		if err := s.Query("UPDATE schema_migrations SET version = 1").ExecOne(t.Context(), s.Writer); err != nil {
			t.Fatal(err)
		}
		testkit.Must(t, s.Migrate(t.Context()))
		current, newest, dirty, err := s.MigrationStatus(t.Context())
		testkit.Must(t, err)
		if current != newest || dirty {
			t.Errorf("at step %d of %d, dirty %v", current, newest, dirty)
		}
	})
}

// A schema that a newer program made is left alone, and the log says so.
func TestMigrateFromANewerSchema(t *testing.T) {
	databasetest.EachConfig(t, func(t *testing.T, cfg database.Config) {
		databasetest.Open(t, cfg)
		var log bytes.Buffer
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		s, err := database.Open(t.Context(), cfg)
		testkit.Must(t, err)
		defer s.Close()
		testkit.Must(t, s.Migrate(t.Context()))
		_, err = s.Writer.ExecContext(t.Context(), "UPDATE schema_migrations SET version = 9000")
		testkit.Must(t, err)
		if log.Len() > 0 {
			t.Errorf("of its own schema the log says %s", &log)
		}
		testkit.Must(t, s.Migrate(t.Context()))
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "newer than this program") || !strings.Contains(log.String(), "schema=9000") {
			t.Errorf("the log says %q", &log)
		}
	})
}
