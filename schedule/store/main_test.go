package store

import (
	"testing"

	"github.com/rs/xid"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
	requests "github.com/treadle-run/treadle/request-manager/store"
)

var must = testkit.Must

func TestMain(m *testing.M) { databasetest.Main(m) }

// fixture is a store in a migrated database with a clock that stands still.
type fixture struct {
	*Store
	requests *requests.Store
	clock    *databasetest.Clock
	cfg      database.Config
}

// each runs a test on every database there is.
func each(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	databasetest.EachConfig(t, func(t *testing.T, cfg database.Config) {
		c := databasetest.NewClock()
		cfg.Now = c.Now
		s := openStore(t, cfg)
		test(t, &fixture{Store: s, requests: requests.New(s.db), clock: c, cfg: cfg})
	})
}

// openStore opens and migrates a database, and closes it with the test.
func openStore(t testing.TB, cfg database.Config) *Store {
	t.Helper()
	return New(databasetest.Open(t, cfg))
}

func newID() string { return xid.New().String() }

func (f *fixture) count(t *testing.T, from string, args ...any) int {
	t.Helper()
	var n int
	must(t, f.db.Writer.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+from, args...).Scan(&n))
	return n
}

// exec changes rows, behind the back of the store.
func (f *fixture) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	res, err := f.db.Writer.ExecContext(t.Context(), sql, args...)
	must(t, err)
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s: changed nothing (%v)", sql, err)
	}
}

// create makes a request that is PENDING.
func (f *fixture) create(t *testing.T) string {
	t.Helper()
	id := newID()
	must(t, f.requests.CreateRequests(t.Context(), []requests.NewRequest{{
		Request: proto.Request{ID: id, Type: "deploy", User: "ann", TotalJobs: 3}, Chain: []byte("{}"),
	}}))
	return id
}
