package store

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/google/go-cmp/cmp"
)

func TestMigrateFromManyProcessesAtOnce(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		var g errgroup.Group
		for range 6 {
			s, err := Open(t.Context(), cfg)
			must(t, err)
			defer s.Close()
			g.Go(func() error { return s.Migrate(t.Context()) })
		}
		must(t, g.Wait())
		s := openStore(t, cfg)
		current, newest, dirty, err := s.MigrationStatus(t.Context())
		must(t, err)
		if current != newest || newest == 0 || dirty {
			t.Errorf("at step %d of %d, dirty %v", current, newest, dirty)
		}
	})
}

func TestMigrationStatusOfAnEmptyDatabase(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		s, err := Open(t.Context(), cfg)
		must(t, err)
		defer s.Close()
		current, newest, dirty, err := s.MigrationStatus(t.Context())
		must(t, err)
		if current != 0 || newest == 0 || dirty {
			t.Errorf("at step %d of %d, dirty %v", current, newest, dirty)
		}
	})
}

func TestInMemoryDatabase(t *testing.T) {
	t.Parallel()
	f := &fixture{Store: openStore(t, Config{SQLitePath: memoryPath})}
	must(t, f.Migrate(t.Context()))
	f.suspended(t)
	if _, err := f.Runners(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestBothDialectsHaveTheSameSchema compares the names of tables, columns and
// indexes, and which columns may be null.
func TestBothDialectsHaveTheSameSchema(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		want := sqliteSchema(t)
		s := openStore(t, cfg)
		got := sqliteSchema(t)
		if s.dialect == &mysqlDialect {
			got = mysqlSchema(t, s)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("sqlite (-), mysql (+):\n%s", d)
		}
	})
}

func sqliteSchema(t *testing.T) []string {
	t.Helper()
	lite := openStore(t, Config{SQLitePath: memoryPath})
	names, err := lite.q(`SELECT m.name || '.' || c.name || CASE WHEN c."notnull" THEN '' ELSE ' null' END
		FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT IN ('schema_migrations', 'sqlite_sequence')
		UNION ALL SELECT tbl_name || ' index ' || name FROM sqlite_master
		WHERE type = 'index' AND sql IS NOT NULL AND tbl_name <> 'schema_migrations'`).strings(t.Context(), lite.read)
	must(t, err)
	slices.Sort(names)
	for _, want := range []string{"requests.request_id", "requests.finished_at null", "job_log index job_log_job"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %s", want, strings.Join(names, ", "))
		}
	}
	return names
}

func mysqlSchema(t *testing.T, s *Store) []string {
	t.Helper()
	names, err := s.q(`SELECT CONCAT(table_name, '.', column_name, IF(is_nullable = 'YES', ' null', ''))
		FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name <> 'schema_migrations'
		UNION ALL SELECT DISTINCT CONCAT(table_name, ' index ', index_name) FROM information_schema.statistics
		WHERE table_schema = DATABASE() AND table_name <> 'schema_migrations' AND index_name <> 'PRIMARY'`).strings(t.Context(), s.read)
	must(t, err)
	slices.Sort(names)
	return names
}

// TestTheSecondStepCanRunAgain as it does where two nodes of a cluster migrate.
func TestTheSecondStepCanRunAgain(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Config) {
		s := openStore(t, cfg)
		if s.dialect == &sqliteDialect {
			return // processes take turns
		}
		if err := s.q("UPDATE schema_migrations SET version = 1").execOne(t.Context(), s.write); err != nil {
			t.Fatal(err)
		}
		must(t, s.Migrate(t.Context()))
		current, newest, dirty, err := s.MigrationStatus(t.Context())
		must(t, err)
		if current != newest || dirty {
			t.Errorf("at step %d of %d, dirty %v", current, newest, dirty)
		}
	})
}
