package store

import (
	"testing"
	"time"

	"github.com/rs/xid"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
)

var must = testkit.Must

func TestMain(m *testing.M) { databasetest.Main(m) }

// fixture is a store in a migrated database with a clock that stands still.
type fixture struct {
	*Store
	clock *databasetest.Clock
	cfg   database.Config
}

// each runs a test on every database there is.
func each(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	databasetest.EachConfig(t, func(t *testing.T, cfg database.Config) {
		c := databasetest.NewClock()
		cfg.Now = c.Now
		test(t, &fixture{Store: openStore(t, cfg), clock: c, cfg: cfg})
	})
}

// openStore opens and migrates a database, and closes it with the test.
func openStore(t testing.TB, cfg database.Config) *Store {
	t.Helper()
	return New(databasetest.Open(t, cfg))
}

func newID() string { return xid.New().String() }

// newRequest is a request of three jobs with defaults that tests do not care for.
func newRequest(id string) NewRequest {
	return NewRequest{
		Request: proto.Request{ID: id, Type: "deploy", User: "ann", TotalJobs: 3},
		Chain:   []byte(`{"requestId":"` + id + `"}`),
	}
}

// create makes a request that is PENDING.
func (f *fixture) create(t *testing.T) string {
	t.Helper()
	id := newID()
	must(t, f.CreateRequests(t.Context(), []NewRequest{newRequest(id)}))
	return id
}

// running makes a request that is RUNNING on runner "jr-1" under epoch 1.
func (f *fixture) running(t *testing.T) string {
	t.Helper()
	id := f.create(t)
	taken, err := f.Dispatch(t.Context(), []Handover{{RequestID: id}}, "jr-1", "http://jr-1")
	must(t, err)
	if len(taken) != 1 {
		t.Fatalf("dispatch took %v", taken)
	}
	return id
}

// suspended makes a request that is SUSPENDED under epoch 1.
func (f *fixture) suspended(t *testing.T) string {
	t.Helper()
	id := f.running(t)
	must(t, f.Suspend(t.Context(), id, 1, time.Time{}, []byte(`{"requestId":"`+id+`"}`), false, ""))
	return id
}

// inState makes a request in the state.
func (f *fixture) inState(t *testing.T, state proto.State) string {
	t.Helper()
	switch state {
	case proto.StatePending:
		return f.create(t)
	case proto.StateRunning:
		return f.running(t)
	case proto.StateSuspended:
		return f.suspended(t)
	}
	id := f.running(t)
	f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Final: state})
	return id
}

// report saves a report that must not be refused.
func (f *fixture) report(t *testing.T, items ...proto.ReportItem) {
	t.Helper()
	refused, err := f.SaveReport(t.Context(), items)
	must(t, err)
	if len(refused) > 0 {
		t.Fatalf("refused: %+v", refused)
	}
}

func (f *fixture) request(t *testing.T, id string) proto.Request {
	t.Helper()
	r, err := f.Request(t.Context(), id)
	must(t, err)
	return r
}

// wantState checks what is always so of a request in the state, and the epoch.
func (f *fixture) wantState(t *testing.T, id string, state proto.State, epoch uint64) proto.Request {
	t.Helper()
	r := f.request(t, id)
	if r.State != state || r.Epoch != epoch {
		t.Errorf("request is %s under epoch %d, want %s under %d", r.State, r.Epoch, state, epoch)
	}
	if (r.FinishedAt != nil) != r.State.Final() {
		t.Errorf("%s request has finish time %v", r.State, r.FinishedAt)
	}
	if (r.JobRunnerURL != "") != (r.State == proto.StateRunning) {
		t.Errorf("%s request has runner %q", r.State, r.JobRunnerURL)
	}
	if n := f.count(t, "suspended_job_chains WHERE request_id = ?", id); (n == 1) != (r.State == proto.StateSuspended) {
		t.Errorf("%s request has %d suspended job chains", r.State, n)
	}
	return r
}

func (f *fixture) count(t *testing.T, from string, args ...any) int {
	t.Helper()
	var n int
	must(t, f.db.Writer.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+from, args...).Scan(&n))
	return n
}

// entry is a job log entry of a try that went well.
func entry(id string, seq uint64, job string) proto.JobLog {
	return proto.JobLog{
		RequestID: id, Seq: seq, JobID: job, Try: 1, Name: job, Type: "noop", State: proto.StateComplete,
		StartedAt: 1_700_000_000_123_456_789, FinishedAt: 1_700_000_000_223_456_789,
	}
}
