package schedule

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/xid"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/schedule/engine"
	"github.com/treadle-run/treadle/schedule/store"
	"github.com/treadle-run/treadle/test/torture"
	"github.com/treadle-run/treadle/test/torture/schedule/audit"
)

// traceDir is where, below the directory of the test, the traces of members go.
const traceDir = "trace"

// test is one run.
type test struct {
	o      Options
	run    string // its id, of letters and digits
	dir    string
	ownDir bool
	own    *torture.Database // the one that the test has started; nil for somebody else's
	opened *database.DB
	store  *store.Store
	db     *sql.DB
	engine *engine.Engine // to change apps; it runs nothing
	audit  *audit.Audit
	found  torture.Findings
	jobs   []audit.Job
	shards sql.NullInt64 // that there were before

	mu      sync.Mutex
	members []*torture.Service
}

// newTest opens everything and makes the rows of the run. An error is the user's.
func newTest(ctx context.Context, o Options) (*test, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	id := xid.New().String()
	t := &test{o: o, run: id[len(id)-8:], dir: o.Dir}
	t.o.Slack = max(t.o.Slack, 1)
	if err := t.open(ctx); err != nil {
		if t.ownDir && t.dir != "" {
			err = errors.Join(err, os.RemoveAll(t.dir))
		}
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

func (t *test) open(ctx context.Context) (err error) {
	if t.dir == "" {
		t.ownDir = true
		if t.dir, err = os.MkdirTemp("", "treadle-torture-"); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(t.dir, traceDir), 0o755); err != nil {
		return err
	}
	if t.o.DB != "" {
		if err := t.startDatabase(ctx); err != nil {
			return err
		}
	}
	if t.opened, err = database.Open(ctx, t.o.Store); err != nil {
		return err
	}
	t.store = store.New(t.opened)
	if t.db, err = openDB(t.o.Store); err != nil {
		return err
	}
	if err := t.prepare(ctx); err != nil {
		return err
	}
	t.engine = engine.New(engine.Config{Store: t.store, Hook: &hook{}})
	apps, known := jobs(t.run, t.o.Jobs, t.o.Scale)
	t.jobs = known
	if err := newArtifacts(t.db, t.run, t.mysql()).create(ctx); err != nil {
		return err
	}
	t.audit = audit.New(audit.Config{
		DB: t.db, MySQL: t.mysql(), Prefix: runPrefix(t.run), Artifacts: artifactsTable(t.run), Jobs: known,
		TraceDir: filepath.Join(t.dir, traceDir), Bound: max(t.o.Scale, time.Second) * time.Duration(t.o.Slack),
		Found: &t.found,
	})
	for _, app := range apps {
		if _, err := t.engine.PutApp(ctx, app); err != nil {
			return errors.Join(fmt.Errorf("app %s: %w", app.Name, err), t.clean(ctx))
		}
	}
	return nil
}

// startDatabase starts the database of the test.
func (t *test) startDatabase(ctx context.Context) (err error) {
	if t.own, err = torture.StartDatabase(ctx, t.o.DB, t.dir); err != nil {
		return err
	}
	t.o.Store.SQLitePath, t.o.Store.MySQLDSN = t.own.Path, ""
	if t.own.Path == "" {
		t.o.Store.MySQLDSN, err = t.own.AnyDSN()
	}
	return err
}

func (t *test) mysql() bool { return t.o.Store.MySQLDSN != "" }

// prepare migrates an empty database and refuses one that somebody uses.
func (t *test) prepare(ctx context.Context) error {
	current, newest, _, err := t.opened.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	if current == 0 {
		if err := t.opened.Migrate(ctx); err != nil {
			return err
		}
	} else if current != newest {
		return fmt.Errorf("the schema of the database has version %d, and this program knows %d: run treadle migrate up first", current, newest)
	}
	if err := t.refuseMembers(ctx); err != nil {
		return err
	}
	if t.o.Clean {
		if err := cleanAll(ctx, t.db, t.mysql()); err != nil {
			return err
		}
	}
	if err := t.refuseApps(ctx); err != nil {
		return err
	}
	return scanOptional(t.db.QueryRowContext(ctx, "SELECT shards FROM schedule_settings WHERE id = 1"), &t.shards)
}

func scanOptional(row *sql.Row, into any) error {
	if err := row.Scan(into); !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return nil
}

// refuseMembers refuses a database in which somebody runs apps: it would run those of
// the test, too.
func (t *test) refuseMembers(ctx context.Context) error {
	now, err := t.store.Now(ctx)
	if err != nil {
		return err
	}
	var names sql.NullString
	err = t.db.QueryRowContext(ctx, "SELECT MAX(member_id) FROM schedule_members WHERE gone_at IS NULL AND heartbeat_at + stale_after > ?",
		now.UnixMicro()).Scan(&names)
	if err != nil {
		return err
	}
	if names.Valid {
		return fmt.Errorf("%w: %s runs apps of this database; end all Request Managers that use it, and wait until it counts as gone (15 seconds, if nothing else was configured)", ErrInUse, names.String)
	}
	return nil
}

// ErrInUse says that a database is not for the test.
var ErrInUse = errors.New("the database is in use")

func (t *test) refuseApps(ctx context.Context) error {
	var n int
	var name sql.NullString
	err := t.db.QueryRowContext(ctx, "SELECT COUNT(*), MAX(name) FROM schedule_apps WHERE deleted_at IS NULL").Scan(&n, &name)
	if err != nil {
		return err
	}
	switch {
	case n > 0 && strings.HasPrefix(name.String, Prefix):
		return fmt.Errorf("%w: it has %d apps, one of them %s, of another torture test; if none runs, --clean removes what it left", ErrInUse, n, name.String)
	case n > 0:
		return fmt.Errorf("%w: it has %d apps, one of them %s; name a database of its own for the test", ErrInUse, n, name.String)
	}
	return nil
}

// close ends what still runs and closes what is open.
func (t *test) close() error {
	for _, m := range t.all() {
		m.Kill()
	}
	var errs []error
	if t.db != nil {
		errs = append(errs, t.db.Close())
	}
	if t.opened != nil {
		errs = append(errs, t.opened.Close())
	}
	if t.own != nil {
		t.own.Stop()
	}
	return errors.Join(errs...)
}
