package api

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

// fakeScheduler answers from fixtures and notes what it was called with. err, if
// set, is the answer to everything, and empty makes all lists nil.
type fakeScheduler struct {
	err   error
	empty bool

	mu    sync.Mutex
	calls []any // the args of the last call
}

func (f *fakeScheduler) note(args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = args
	return f.err
}

func (f *fakeScheduler) last() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *fakeScheduler) services() Services {
	return Services{Apps: f, Instances: f, Ledger: f, Members: f}
}

// listOf is a list with one element, or none.
func listOf[T any](f *fakeScheduler, one T) []T {
	if f.empty {
		return nil
	}
	return []T{one}
}

func someInstance() proto.Instance {
	return proto.Instance{
		InstanceSpecifier: proto.InstanceSpecifier{App: "counter", Number: 7, Sequence: 3},
		Name:              "2026-01-02-0300-counter", State: proto.InstanceRunning,
		PeriodStart: created, PeriodEnd: started, Due: created, StartedAt: &started, RequestID: someID, WaitsFor: someID,
		Conf: json.RawMessage(`{"a":1}`),
	}
}

func someApp() proto.AppStatus {
	in := someInstance()
	return proto.AppStatus{
		App:    proto.App{Name: "counter", Request: "count", Args: proto.Values{"n": int64(3)}, Every: proto.Duration(time.Minute), Timeout: proto.Seconds(time.Hour)},
		Source: proto.AppFromAPI, Since: created, Last: &in, Running: 1,
	}
}

func (f *fakeScheduler) Apps(_ context.Context, after string, limit int) ([]proto.AppStatus, error) {
	return listOf(f, someApp()), f.note(after, limit)
}

func (f *fakeScheduler) App(_ context.Context, name string) (proto.AppStatus, error) {
	if f.last() == nil {
		return someApp(), f.note(name)
	}
	return someApp(), f.err // after a put: its args are what tests look at
}

func (f *fakeScheduler) PutApp(_ context.Context, app proto.App) (bool, error) {
	return true, f.note(app)
}

func (f *fakeScheduler) DeleteApp(_ context.Context, name string) error {
	return f.note("delete", name)
}

func (f *fakeScheduler) PauseApp(_ context.Context, name string, paused bool) error {
	return f.note(name, paused)
}

func (f *fakeScheduler) UndoInstance(_ context.Context, app string, u proto.UndoInstance, user string) error {
	return f.note(app, u, user)
}

func (f *fakeScheduler) RunPeriods(_ context.Context, name string, r proto.RunPeriods) (proto.RunPeriodsAnswer, error) {
	return proto.RunPeriodsAnswer{Periods: listOf(f, proto.RunPeriod{Name: "2026-01-02-0300-counter", Start: created, Why: "it runs"})}, f.note(name, r)
}

func (f *fakeScheduler) Periods(_ context.Context, name string, since, until time.Time, limit int) ([]proto.Period, error) {
	return listOf(f, proto.Period{App: "counter", Name: "2026-01-02-0300-counter", Start: created, End: started, Due: created,
		State: proto.PeriodWaiting, Waits: []string{"feed"}}), f.note(name, since, until, limit)
}

func (f *fakeScheduler) NextTimes(_ context.Context, name string, from time.Time, n int) ([]proto.NextTime, error) {
	return listOf(f, proto.NextTime{Name: "2026-01-02-0300-counter", Start: created, End: started, Due: created, Why: "gap"}), f.note(name, from, n)
}

func (f *fakeScheduler) Events(_ context.Context, name string, since uint64, limit int) ([]proto.AppEvent, error) {
	return listOf(f, proto.AppEvent{ID: 5, App: "counter", Kind: proto.AppLate, PeriodStart: created, At: started}), f.note(name, since, limit)
}

func (f *fakeScheduler) Blocked(_ context.Context, name string, limit int) ([]proto.Blocked, error) {
	return listOf(f, proto.Blocked{App: "counter", Name: "2026-01-02-0300-counter", Start: created, End: started,
		On: []proto.BlockedOn{{App: "feed", Expected: 24, Done: 23, First: "2026-01-02-0200-feed", Why: "FAILED"}}}), f.note("blocked", name, limit)
}

func (f *fakeScheduler) Instances(_ context.Context, filter proto.InstanceFilter) ([]proto.Instance, error) {
	return listOf(f, someInstance()), f.note(filter)
}

func (f *fakeScheduler) HostInstances(_ context.Context, host string) ([]proto.HostInstance, error) {
	return listOf(f, proto.HostInstance{Name: "2026-01-02-0300-counter", App: "counter", State: proto.HostPending, Conf: map[string]any{"a": 1.0}}), f.note(host)
}

func (f *fakeScheduler) Members(context.Context) ([]proto.MemberStatus, error) {
	return listOf(f, proto.MemberStatus{Member: proto.Member{ID: "rm-1", Host: "h", PID: 7, Version: "v1", StartedAt: created, HeartbeatAt: started}, Live: true, Shards: 64}), f.note("members")
}

func (f *fakeScheduler) SetShards(_ context.Context, n int) error { return f.note(n) }

// ask sends one call to the API over the scheduler.
func ask(t *testing.T, f *fakeScheduler, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	return call(t, Config{}, f, method, path, body)
}

// dialScheduler serves the API over the scheduler and returns a client of it.
func dialScheduler(t *testing.T, f *fakeScheduler) *client.Client {
	t.Helper()
	c := client.New(client.Config{URL: serve(t, Config{}, f)})
	t.Cleanup(c.Close)
	return c
}
