package store

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
)

func TestDatabaseThatIsNotThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := l.Addr().String()
	must(t, l.Close())
	db, err := database.Open(t.Context(), database.Config{MySQLDSN: "u@tcp(" + addr + ")/d", RetryWait: time.Millisecond})
	must(t, err)
	defer db.Close()
	s := New(db)
	for name, err := range map[string]error{
		"ping":    s.Ping(t.Context()),
		"request": second(s.Request(t.Context(), newID())),
		"create":  s.CreateRequests(t.Context(), []NewRequest{newRequest(newID())}),
	} {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: error %v, want ErrUnavailable", name, err)
		}
	}
}

func TestTheDatabasesClock(t *testing.T) {
	databasetest.EachConfig(t, func(t *testing.T, cfg database.Config) {
		f := &fixture{Store: openStore(t, cfg)}
		now, err := f.Now(t.Context())
		must(t, err)
		if d := time.Since(now).Abs(); d > 10*time.Second || now.Location() != time.UTC {
			t.Errorf("the database's clock says %s, %s off", now, d)
		}
		r := f.request(t, f.inState(t, 3))
		if r.CreatedAt.Before(now) || r.StartedAt.Before(r.CreatedAt) || r.FinishedAt.Before(*r.StartedAt) ||
			r.FinishedAt.Sub(now) > time.Minute {
			t.Errorf("after %s: created %s, started %s, finished %s", now, r.CreatedAt, r.StartedAt, r.FinishedAt)
		}
	})
}

func TestInMemoryDatabase(t *testing.T) {
	t.Parallel()
	f := &fixture{Store: openStore(t, database.Config{SQLitePath: database.MemoryPath})}
	f.suspended(t)
	if _, err := f.Runners(t.Context()); err != nil {
		t.Error(err)
	}
}
