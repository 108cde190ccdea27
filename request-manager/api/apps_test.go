package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

const (
	periodJSON   = `"start":"2026-01-02T03:04:05.6789Z","end":"2026-01-02T03:04:06.6789Z","due":"2026-01-02T03:04:05.6789Z"`
	instanceJSON = `{"app":"counter","number":7,"sequence":3,"name":"2026-01-02-0300-counter","state":"RUNNING",` +
		`"periodStart":"2026-01-02T03:04:05.6789Z","periodEnd":"2026-01-02T03:04:06.6789Z","run":0,"due":"2026-01-02T03:04:05.6789Z",` +
		`"startedAt":"2026-01-02T03:04:06.6789Z","finishedAt":null,"recurring":false,"requestId":"` + someID + `","waitsFor":"` + someID + `","conf":{"a":1}}`
	appJSON = `{"name":"counter","request":"count","args":{"n":3},"every":"1m0s","timeout":"1h0m0s","source":"api","paused":false,` +
		`"since":"2026-01-02T03:04:05.6789Z","last":` + instanceJSON + `,"running":1}`
)

// TestAnswersOnRecurringWork holds every route of apps to its answer, byte for
// byte, and to the empty one.
func TestAnswersOnRecurringWork(t *testing.T) {
	t.Parallel()
	const app = "/api/v1/apps/counter"
	for _, tc := range []struct {
		method, path, body string
		answer, empty      string
	}{
		{"GET", "/api/v1/apps", "", `[` + appJSON + `]`, "[]"},
		{"GET", app, "", appJSON, appJSON},
		{"PUT", app, `{"request":"count","every":"60s"}`, appJSON, appJSON},
		{"DELETE", app, "", "", ""},
		{"PUT", app, appJSON, appJSON, appJSON},
		{"PUT", app + "/pause", "", "", ""},
		{"PUT", app + "/pause", "{}", "", ""},
		{"PUT", app + "/resume", "", "", ""},
		{"PUT", app + "/undo", `{"instance":"2026-01-02-0300-counter","do":"give-up"}`, "", ""},
		{"POST", app + "/run", `{"from":"2026-01-02-0300-counter","to":"2026-01-03"}`,
			`{"periods":[{"name":"2026-01-02-0300-counter","start":"2026-01-02T03:04:05.6789Z","made":false,"why":"it runs"}]}`, `{"periods":[]}`},
		{"GET", app + "/periods", "", `[{"app":"counter","name":"2026-01-02-0300-counter",` + periodJSON +
			`,"state":"waiting","startedAt":null,"finishedAt":null,"late":false,"waits":["feed"]}]`, "[]"},
		{"GET", app + "/next?n=5", "", `[{"name":"2026-01-02-0300-counter",` + periodJSON + `,"why":"gap"}]`, "[]"},
		{"GET", app + "/events?since=4", "", `[{"id":5,"app":"counter","kind":"late","periodStart":"2026-01-02T03:04:05.6789Z","at":"2026-01-02T03:04:06.6789Z"}]`, "[]"},
		{"GET", "/api/v1/blocked", "", `[{"app":"counter","name":"2026-01-02-0300-counter","start":"2026-01-02T03:04:05.6789Z","end":"2026-01-02T03:04:06.6789Z",` +
			`"on":[{"app":"feed","expected":24,"done":23,"first":"2026-01-02-0200-feed","why":"FAILED"}]}]`, "[]"},
		{"GET", "/api/v1/instances", "", `[` + instanceJSON + `]`, "[]"},
		{"GET", "/api/v1/hosts/db1/instances", "", `[{"name":"2026-01-02-0300-counter","app":"counter","state":"pending","conf":{"a":1}}]`, "[]"},
		{"GET", "/api/v1/schedule/members", "", `[{"id":"rm-1","host":"h","pid":7,"version":"v1","startedAt":"2026-01-02T03:04:05.6789Z",` +
			`"heartbeatAt":"2026-01-02T03:04:06.6789Z","live":true,"shards":64}]`, "[]"},
		{"PUT", "/api/v1/schedule/shards", `{"shards":8}`, "", ""},
	} {
		t.Run(tc.method+" "+tc.path, func(t *testing.T) {
			t.Parallel()
			for empty, want := range map[bool]string{false: tc.answer, true: tc.empty} {
				w := ask(t, &fakeScheduler{empty: empty}, tc.method, tc.path, tc.body)
				if got := strings.TrimSuffix(w.Body.String(), "\n"); w.Code != 200 || got != want {
					t.Errorf("%d (-want +got):\n%s", w.Code, cmp.Diff(want, got))
				}
			}
			failing := &fakeScheduler{err: proto.Errorf(proto.CodeConflict, "the specs declare it")}
			if w := ask(t, failing, tc.method, tc.path, tc.body); w.Code != 409 || !strings.Contains(w.Body.String(), "the specs declare it") {
				t.Errorf("an error is answered %d %s", w.Code, w.Body)
			}
		})
	}
}

// TestBadInputOnRecurringWork sends what no handler may take. None of it reaches
// the engine.
func TestBadInputOnRecurringWork(t *testing.T) {
	t.Parallel()
	const app = "/api/v1/apps/counter"
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		message                  string
	}{
		{"unknown field", "PUT", app, `{"request":"x","evry":"1m"}`, 400, "evry: there is no such field"},
		{"number for a duration", "PUT", app, `{"request":"x","every":90}`, 400, `every: expected a duration such as "30s"`},
		{"bad duration", "PUT", app, `{"request":"x","timeout":"soon"}`, 400, `timeout: "soon" is not a duration such as "30s"`},
		{"text for an object", "PUT", app, `{"request":"x","depends":"feed"}`, 400, "depends: expected an object, got string"},
		{"no timeout", "PUT", app, `{"request":"x","timeout":0}`, 400, "`timeout` must be more than 0; leave it out for none"},
		{"no missedCap", "PUT", app, `{"request":"x","MISSEDCAP":0}`, 400, "`missedCap` must be more than 0; leave it out for none"},
		{"every nothing", "PUT", app, `{"request":"x","every":"0s"}`, 400, "`every` must be more than 0; leave it out for none"},
		{"field of a pause", "PUT", app + "/pause", `{"bogus":1}`, 400, "bogus: there is no such field"},
		{"field of a resume", "PUT", app + "/resume", `{"paused":false}`, 400, "paused: there is no such field"},
		{"field of a delete", "DELETE", app, `{"force":true}`, 400, "force: there is no such field"},
		{"pause with a list", "PUT", app + "/pause", `[]`, 400, "the body: expected an object, got array"},
		{"other name", "PUT", app, `{"name":"other","request":"x"}`, 400, `name: expected "counter" as in the path, or none, got "other"`},
		{"malformed", "PUT", app, `{"request":`, 400, "malformed JSON: the body ends in the middle, after 11 bytes"},
		{"list", "PUT", app, `[]`, 400, "the body: expected an object, got array"},
		{"empty", "PUT", app, ``, 400, "the body is empty: expected a JSON object"},
		{"long name", "GET", "/api/v1/apps/" + strings.Repeat("a", 76), "", 404, "no app with that name"},
		{"unknown key of apps", "GET", "/api/v1/apps?name=x", "", 400, `unknown query key "name": expected one of after, limit`},
		{"no period", "POST", app + "/run", `{}`, 400, "period: is missing: the time or the name of the period to run, or from and to"},
		{"period and range", "POST", app + "/run", `{"period":"a","to":"b"}`, 400, "period: stands alone, without from and to"},
		{"half a range", "POST", app + "/run", `{"from":"a"}`, 400, "to: is missing: periods that start before it are run"},
		{"undo of nothing", "PUT", app + "/undo", `{"do":"retry"}`, 400, "instance: is missing: the name of the instance whose undo fails"},
		{"undo without a word", "PUT", app + "/undo", `{"instance":"a"}`, 400, `do: expected "retry" or "give-up", got ""`},
		{"unknown field of an undo", "PUT", app + "/undo", `{"instance":"a","do":"retry","user":"x"}`, 400, "user: there is no such field"},
		{"unknown field of a run", "POST", app + "/run", `{"period":"a","agian":true}`, 400, "agian: there is no such field"},
		{"again is a text", "POST", app + "/run", `{"period":"a","again":"yes"}`, 400, "again: expected true or false, got string"},
		{"since of periods", "GET", app + "/periods?since=yesterday", "", 400, `since: expected a time such as 2006-01-02T15:04:05.999999Z, got "yesterday"`},
		{"limit of periods", "GET", app + "/periods?limit=-1", "", 400, `limit: expected a whole number from 0 on, got "-1"`},
		{"too many times", "GET", app + "/next?n=1001", "", 400, "n: at most 1000, got 1001"},
		{"since of events", "GET", app + "/events?since=2026-01-01T00:00:00Z", "", 400, `since: expected the id of an event, got "2026-01-01T00:00:00Z"`},
		{"state of instances", "GET", "/api/v1/instances?state=COMPLETE", "", 400, `state: expected QUEUED, RUNNING, TO_UNDO, UNDOING, SUCCEEDED or FAILED, got "COMPLETE"`},
		{"offset alone", "GET", "/api/v1/instances?offset=5", "", 400, "offset: needs a limit"},
		{"app twice", "GET", "/api/v1/instances?app=a&app=b", "", 400, "app: given 2 times, expected once"},
		{"query of blocked", "GET", "/api/v1/blocked?ap=x", "", 400, `unknown query key "ap": expected one of app, limit`},
		{"no shards", "PUT", "/api/v1/schedule/shards", `{"shards":0}`, 400, "shards: expected a whole number from 1 to 1024"},
		{"shards missing", "PUT", "/api/v1/schedule/shards", `{}`, 400, "shards: expected a whole number from 1 to 1024"},
		{"half a shard", "PUT", "/api/v1/schedule/shards", `{"shards":1.5}`, 400, "shards: expected a number in the range of int, got number 1.5"},
		{"method", "POST", app, `{}`, 405, "POST is not allowed here, only OPTIONS, DELETE, GET, PUT"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := &fakeScheduler{}
			w := ask(t, f, tc.method, tc.path, tc.body)
			var b proto.ErrorBody
			if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil {
				t.Fatalf("answer %q: %v", w.Body, err)
			}
			if w.Code != tc.status || b.Message != tc.message {
				t.Errorf("got %d %q\nwant %d %q", w.Code, b.Message, tc.status, tc.message)
			}
			if f.last() != nil {
				t.Errorf("the engine was called with %v", f.last())
			}
		})
	}
}

// TestClientOfRecurringWork goes through each call of a user.
func TestClientOfRecurringWork(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	app := someApp().App
	run := proto.RunPeriods{From: "2026-01-01T00:00:00Z", To: "2026-01-02T00:00:00Z", Again: true, Force: true}
	filter := proto.InstanceFilter{App: "a", Host: "h", States: []proto.InstanceState{proto.InstanceFailed}, Since: created, Until: started, Limit: 5, Offset: 10}
	f := &fakeScheduler{}
	c := dialScheduler(t, f)
	for _, tc := range []struct {
		name string
		do   func() (any, error)
		want any
		args []any // that the engine got
	}{
		{"app", func() (any, error) { return c.App(ctx, "counter") }, someApp(), []any{"counter"}},
		{"apps", func() (any, error) { return c.Apps(ctx, "b", 7) }, []proto.AppStatus{someApp()}, []any{"b", 7}},
		{"put", func() (any, error) { return c.PutApp(ctx, app) }, someApp(), []any{app}},
		{"delete", func() (any, error) { return nil, c.DeleteApp(ctx, "counter") }, nil, []any{"delete", "counter"}},
		{"pause", func() (any, error) { return nil, c.PauseApp(ctx, "counter", true) }, nil, []any{"counter", true}},
		{"resume", func() (any, error) { return nil, c.PauseApp(ctx, "counter", false) }, nil, []any{"counter", false}},
		{"undo", func() (any, error) {
			return nil, c.UndoInstance(ctx, "counter", proto.UndoInstance{Instance: "i", Do: proto.UndoRetry})
		}, nil,
			[]any{"counter", proto.UndoInstance{Instance: "i", Do: proto.UndoRetry}, anonymous}},
		{"run", func() (any, error) { return c.RunPeriods(ctx, "counter", run) },
			proto.RunPeriodsAnswer{Periods: []proto.RunPeriod{{Name: "2026-01-02-0300-counter", Start: created, Why: "it runs"}}}, []any{"counter", run}},
		{"instances", func() (any, error) { return c.Instances(ctx, filter) }, []proto.Instance{someInstance()}, []any{filter}},
		{"shards", func() (any, error) { return nil, c.SetShards(ctx, 8) }, nil, []any{8}},
	} {
		got, err := tc.do()
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(tc.args, f.last()); diff != "" {
			t.Errorf("%s: the engine got (-want +got):\n%s", tc.name, diff)
		}
	}
	if p, err := c.Periods(ctx, "counter", created, started, 3); err != nil || len(p) != 1 || p[0].State != proto.PeriodWaiting {
		t.Errorf("periods %+v, %v", p, err)
	}
	if diff := cmp.Diff([]any{"counter", created, started, 3}, f.last()); diff != "" {
		t.Errorf("periods: the engine got (-want +got):\n%s", diff)
	}
	if n, err := c.NextTimes(ctx, "counter", started, 5); err != nil || len(n) != 1 || n[0].Why != "gap" {
		t.Errorf("next times %+v, %v", n, err)
	}
	if diff := cmp.Diff([]any{"counter", started, 5}, f.last()); diff != "" {
		t.Errorf("next times: the engine got (-want +got):\n%s", diff)
	}
	if e, err := c.AppEvents(ctx, "counter", 4, 9); err != nil || len(e) != 1 || e[0].ID != 5 {
		t.Errorf("events %+v, %v", e, err)
	}
	if b, err := c.Blocked(ctx, "counter", 9); err != nil || len(b) != 1 || b[0].On[0].Done != 23 {
		t.Errorf("blocked %+v, %v", b, err)
	}
	if diff := cmp.Diff([]any{"blocked", "counter", 9}, f.last()); diff != "" {
		t.Errorf("blocked: the engine got (-want +got):\n%s", diff)
	}
	if w := ask(t, f, "GET", "/api/v1/hosts/db%2F1/instances", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"counter"`) || f.last()[0] != "db/1" {
		t.Errorf("of a host: %d %s; asked for %v", w.Code, w.Body, f.last())
	}
	if m, err := c.Members(ctx); err != nil || len(m) != 1 || !m[0].Live || !m[0].HeartbeatAt.Equal(started) {
		t.Errorf("members %+v, %v", m, err)
	}
}

func TestZeroFiltersAskForDefaults(t *testing.T) {
	t.Parallel()
	f := &fakeScheduler{}
	c := dialScheduler(t, f)
	if _, err := c.Periods(t.Context(), "counter", time.Time{}, time.Time{}, 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"counter", time.Time{}, time.Time{}, 0}, f.last()); diff != "" {
		t.Errorf("the engine got (-want +got):\n%s", diff)
	}
}

// TestOnePeriodThatDoesNotRun tells it from a range, whose answer says it of each.
func TestOnePeriodThatDoesNotRun(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/apps/counter/run"
	w := ask(t, &fakeScheduler{}, "POST", path, `{"period":"2026-01-02-0300-counter"}`)
	if want := "period 2026-01-02-0300-counter does not run: it runs"; w.Code != 409 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("one period: %d %s, want 409 and %q", w.Code, w.Body, want)
	}
	if w := ask(t, &fakeScheduler{}, "POST", path, `{"from":"2026-01-02","to":"2026-01-03"}`); w.Code != 200 {
		t.Errorf("a range: %d %s", w.Code, w.Body)
	}
}
