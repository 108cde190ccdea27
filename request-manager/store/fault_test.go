package store

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/mariadb"
)

// TestKilledDatabase kills the database under load and starts it again: whoever
// tries long enough notices nothing, and all that was acknowledged is there, once.
func TestKilledDatabase(t *testing.T) {
	t.Parallel()
	if os.Getenv(databasetest.MariaDBEnv) != "on" {
		return // SQLite dies with the process: test/torture
	}
	srv, err := mariadb.Start(t.Context(), mariadb.Options{})
	must(t, err)
	defer srv.Stop()
	dsn, err := srv.NewDatabase(t.Context())
	must(t, err)
	f := &fixture{Store: openStore(t, database.Config{MySQLDSN: dsn, Tries: 1000, RetryWait: 50 * time.Millisecond, MaxOpenConns: 8})}

	const enough = 400
	var mu sync.Mutex
	var done []string
	worked := make(chan struct{}, enough+8)
	var g errgroup.Group
	for range 6 {
		g.Go(func() error {
			for {
				id := newID()
				if err := f.CreateRequests(t.Context(), []NewRequest{newRequest(id)}); err != nil {
					return err
				}
				taken, err := f.Dispatch(t.Context(), []Handover{{RequestID: id}}, "jr-1", "http://jr-1")
				if err != nil || len(taken) != 1 {
					return errors.Join(err, errors.New("dispatch did not know its own request"))
				}
				refused, err := f.SaveReport(t.Context(), []proto.ReportItem{{RequestID: id, Epoch: 1, FinishedJobs: 1,
					Entries: []proto.JobLog{entry(id, 0, "a")}, Final: proto.StateComplete}})
				if err != nil || len(refused) != 0 {
					return errors.Join(err, errors.New("the report was refused"))
				}
				mu.Lock()
				done = append(done, id)
				n := len(done)
				mu.Unlock()
				worked <- struct{}{}
				if n >= enough {
					return nil
				}
			}
		})
	}
	for _, harm := range []func(){srv.Kill9, func() { must(t, srv.Signal(syscall.SIGTERM)); srv.Shutdown() }} {
		for range 60 { // in the middle of it
			<-worked
		}
		harm()
		must(t, srv.Restart(t.Context()))
	}
	must(t, g.Wait())
	for _, id := range done {
		f.wantState(t, id, proto.StateComplete, 1)
	}
	if n := f.count(t, "job_log"); n != len(done) {
		t.Errorf("%d entries, want %d", n, len(done))
	}
}
