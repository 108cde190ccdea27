package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/mariadb"
)

// A disk that is full stops writing and says so; reading goes on, nothing that was
// acknowledged is lost, and all is well again when there is room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	f := &fixture{Store: openStore(t, database.Config{SQLitePath: filepath.Join(t.TempDir(), "treadle.db"), RetryWait: time.Millisecond})}
	id := f.running(t)
	var pages int
	must(t, f.db.Writer.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages))
	// The one connection that writes may take some pages more.
	var most int
	must(t, f.db.Writer.QueryRowContext(t.Context(), "PRAGMA max_page_count = "+strconv.Itoa(pages+20)).Scan(&most))
	var stored []string
	var err error
	for len(stored) < 1000 && err == nil {
		r := newRequest(newID())
		r.Chain = make([]byte, 900) // not compressed
		if err = f.CreateRequests(t.Context(), []NewRequest{r}); err == nil {
			stored = append(stored, r.Request.ID)
		}
	}
	if !errors.Is(err, ErrDiskFull) || !errors.Is(err, ErrUnavailable) {
		t.Fatalf("after %d requests: error %v, want ErrDiskFull", len(stored), err)
	}
	big := proto.ReportItem{RequestID: id, Epoch: 1, FinishedJobs: 1, Entries: []proto.JobLog{entry(id, 0, "a")}}
	big.Entries[0].Stdout = string(make([]byte, 1<<20))
	if _, err := f.SaveReport(t.Context(), []proto.ReportItem{big}); !errors.Is(err, ErrDiskFull) {
		t.Errorf("report: error %v, want ErrDiskFull", err)
	}
	for _, id := range stored {
		f.wantState(t, id, proto.StatePending, 0)
	}
	must(t, f.db.Writer.QueryRowContext(t.Context(), "PRAGMA max_page_count = 1000000").Scan(&most))
	f.report(t, big)
	must(t, f.CreateRequests(t.Context(), []NewRequest{newRequest(newID())}))
	if n := f.count(t, "requests"); n != len(stored)+2 {
		t.Errorf("%d requests, want %d", n, len(stored)+2)
	}
}

// After a failover the old primary is read only. Its connections are left: whoever
// tries long enough ends up where it may write.
func TestReadOnlyAfterFailover(t *testing.T) {
	t.Parallel()
	if os.Getenv(databasetest.MariaDBEnv) != "on" {
		return // SQLite has no failover
	}
	srv, err := mariadb.Start(t.Context(), mariadb.Options{})
	must(t, err)
	defer srv.Stop()
	dsn, err := srv.NewDatabase(t.Context())
	must(t, err)
	root, err := sql.Open("mysql", srv.DSN(""))
	must(t, err)
	defer root.Close()
	// Who may do everything may write everywhere.
	for _, stmt := range []string{"CREATE USER plain@'%'", "GRANT ALL ON t1.* TO plain@'%'"} {
		_, err := root.ExecContext(t.Context(), stmt)
		must(t, err)
	}
	dsn = "plain@tcp(" + srv.Addr() + ")" + dsn[len(dsn)-len("/t1"):]
	patient := &fixture{Store: openStore(t, database.Config{MySQLDSN: dsn, Tries: 1000, RetryWait: 20 * time.Millisecond, MaxOpenConns: 1})}
	hasty := &fixture{Store: openStore(t, database.Config{MySQLDSN: dsn, Tries: 2, RetryWait: time.Millisecond, MaxOpenConns: 2})}
	connection := func(f *fixture) (id int) {
		must(t, f.db.Writer.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id))
		return id
	}
	id := patient.running(t)
	before := connection(patient)
	readOnly := func(on string) {
		t.Helper()
		_, err := root.ExecContext(t.Context(), "SET GLOBAL read_only = "+on)
		must(t, err)
	}
	readOnly("1")
	if err := hasty.CreateRequests(t.Context(), []NewRequest{newRequest(newID())}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("create: error %v, want ErrUnavailable", err)
	}
	if _, err := hasty.Stop(t.Context(), id); !errors.Is(err, ErrUnavailable) {
		t.Errorf("stop: error %v, want ErrUnavailable", err)
	}
	done := make(chan error, 1)
	go func() {
		refused, err := patient.SaveReport(context.WithoutCancel(t.Context()), []proto.ReportItem{{RequestID: id, Epoch: 1, FinishedJobs: 3, Final: proto.StateComplete}})
		if len(refused) > 0 {
			err = errors.New(refused[0].Message)
		}
		done <- err
	}()
	later := time.NewTimer(300 * time.Millisecond)
	select {
	case err := <-done:
		t.Fatalf("stored in a database that is read only: %v", err)
	case <-later.C:
	}
	readOnly("0")
	must(t, <-done)
	patient.wantState(t, id, proto.StateComplete, 1)
	if after := connection(patient); after == before {
		t.Error("it is still the same connection: another server would not be found")
	}
}

// A database that stands still is like one that is away, and what was under way
// goes on with it.
func TestFrozenDatabase(t *testing.T) {
	t.Parallel()
	if os.Getenv(databasetest.MariaDBEnv) != "on" {
		return
	}
	srv, err := mariadb.Start(t.Context(), mariadb.Options{})
	must(t, err)
	defer srv.Stop()
	dsn, err := srv.NewDatabase(t.Context())
	must(t, err)
	f := &fixture{Store: openStore(t, database.Config{MySQLDSN: dsn})}
	id := f.running(t)
	must(t, srv.Signal(syscall.SIGSTOP))
	shortly := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	// The last of its threads may stand still a moment later.
	for try := 0; ; try++ {
		err := f.Ping(shortly())
		if errors.Is(err, ErrUnavailable) {
			break
		}
		if try == 1000 {
			t.Fatalf("ping: error %v, want ErrUnavailable", err)
		}
	}
	if _, err := f.Request(shortly(), id); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("request: error %v, want that of the context", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := f.Stop(context.WithoutCancel(t.Context()), id)
		done <- err
	}()
	must(t, srv.Signal(syscall.SIGCONT))
	must(t, <-done)
	if r := f.request(t, id); !r.StopRequested {
		t.Error("the stop was not stored")
	}
}
