package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// fakeRequests are requests that the test ends.
type fakeRequests struct {
	made    []proto.CreateRequest
	keys    []string
	byKey   map[string]*proto.Request
	byID    map[string]*proto.Request
	stopped []string
	data    proto.Values
	refuse  error
}

func newFakeRequests() *fakeRequests {
	return &fakeRequests{byKey: map[string]*proto.Request{}, byID: map[string]*proto.Request{}}
}

func (f *fakeRequests) Create(_ context.Context, c proto.CreateRequest, user, key string) (proto.Request, error) {
	if f.refuse != nil {
		return proto.Request{}, f.refuse
	}
	if r := f.byKey[user+key]; r != nil {
		return *r, nil
	}
	r := &proto.Request{ID: fmt.Sprintf("r%d", len(f.made)+1), State: proto.StatePending, TotalJobs: 1}
	f.made, f.keys = append(f.made, c), append(f.keys, user+" "+key)
	f.byKey[user+key], f.byID[r.ID] = r, r
	return *r, nil
}

func (f *fakeRequests) Get(_ context.Context, id string) (proto.Request, error) {
	if r := f.byID[id]; r != nil {
		return *r, nil
	}
	return proto.Request{}, proto.Errorf(proto.CodeNotFound, "no request with that id")
}

func (f *fakeRequests) Log(context.Context, string) ([]proto.JobLog, error) {
	return []proto.JobLog{
		{State: proto.StateFail, Data: proto.Values{"rows": 1}},
		{State: proto.StateComplete, Data: f.data},
	}, nil
}

func (f *fakeRequests) Stop(_ context.Context, id string) error {
	f.stopped = append(f.stopped, id)
	f.byID[id].StopRequested = true
	return nil
}

func (f *fakeRequests) Specs() []proto.RequestSpec {
	return []proto.RequestSpec{
		{Name: "count", Args: []proto.RequestArg{{Name: "feed"}, {Name: "conf"}, {Name: "instance"}, {Name: "periodStart"}}},
		{Name: "uncount", Args: []proto.RequestArg{{Name: "instance"}}},
	}
}

func (f *fakeRequests) HostUp(host string) bool { return host == "up" }

var (
	countApp = proto.App{Name: "counter", Request: "count", Args: proto.Values{"feed": "adx"}, Undo: "uncount", Timezone: "America/New_York",
		Depends: map[string]string{"up": "hourly"}}
	countInstance = proto.Instance{
		InstanceSpecifier: proto.InstanceSpecifier{App: "counter", Number: 7}, Name: "2011-01-02-1300-counter", Run: 2, Host: "up",
		PeriodStart: time.Date(2011, 1, 2, 18, 0, 0, 0, time.UTC), PeriodEnd: time.Date(2011, 1, 2, 19, 0, 0, 0, time.UTC),
		Conf: json.RawMessage(`{"up":{"count":1}}`),
	}
)

func TestRequestOfAnInstance(t *testing.T) {
	t.Parallel()
	f := newFakeRequests()
	h := NewRequestHook(f)
	in := countInstance
	out, err := h.Run(t.Context(), countApp, in)
	must(t, err)
	if out.Done || out.RequestID != "r1" || out.WaitsFor != "r1" {
		t.Fatalf("after the start: %+v", out)
	}
	c := f.made[0]
	args, err := json.Marshal(c.Args)
	must(t, err)
	want := `{"conf":{"up":{"count":1}},"feed":"adx","instance":"2011-01-02-1300-counter","periodStart":"2011-01-02T13:00:00-05:00"}`
	if string(args) != want || c.Type != "count" || c.Host != "up" {
		t.Errorf("the request is %s on %q with %s, want %s", c.Type, c.Host, args, want)
	}
	if f.keys[0] != "app:counter schedule/counter/1293991200000000/2" {
		t.Errorf("user and key are %q", f.keys[0])
	}
	// It was cut off before the id was stored: the same request.
	if out, err = h.Run(t.Context(), countApp, in); err != nil || out.RequestID != "r1" || len(f.made) != 1 {
		t.Fatalf("taken up again: %+v, %v, %d requests", out, err, len(f.made))
	}
	in.RequestID = "r1"
	f.byID["r1"].State, f.data = proto.StateComplete, proto.Values{"rows": 12}
	out, err = h.Run(t.Context(), countApp, in)
	must(t, err)
	if want := `{"requestId":"r1","state":"COMPLETE","data":{"rows":12}}`; !out.Done || !out.OK || string(out.Result) != want {
		t.Errorf("at its end: %+v with %s, want %s", out, out.Result, want)
	}
	f.data = proto.Values{"rows": strings.Repeat("x", maxData)}
	if out, err = h.Run(t.Context(), countApp, in); err != nil || !strings.Contains(string(out.Result), `"dataOmitted":true`) || len(out.Result) > 1000 {
		t.Errorf("large data: %.200s, %v", out.Result, err)
	}
}

func TestRequestThatFails(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		set  func(f *fakeRequests, in *proto.Instance)
		want string
	}{
		{"failed", func(f *fakeRequests, _ *proto.Instance) {
			f.byID["r1"].State, f.byID["r1"].Reason = proto.StateFail, "job x failed"
		}, "request r1 ended FAIL: job x failed"},
		{"stopped by a user", func(f *fakeRequests, _ *proto.Instance) { f.byID["r1"].State = proto.StateStopped }, "request r1 ended STOPPED"},
		{"removed", func(_ *fakeRequests, in *proto.Instance) { in.RequestID = "r9" }, "request r9 no longer exists"},
		{"refused", func(f *fakeRequests, in *proto.Instance) {
			f.refuse, in.RequestID = proto.Errorf(proto.CodeInvalid, "no request type count"), ""
		}, "no request type count"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeRequests()
			h := NewRequestHook(f)
			in := countInstance
			out, err := h.Run(t.Context(), countApp, in)
			must(t, err)
			in.RequestID = out.RequestID
			tc.set(f, &in)
			out, err = h.Run(t.Context(), countApp, in)
			must(t, err)
			if !out.Done || out.OK || out.Reason != tc.want {
				t.Errorf("outcome is %+v, want a failure: %s", out, tc.want)
			}
		})
	}
}

func TestRequestWhileTheDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	f := newFakeRequests()
	f.refuse = proto.Errorf(proto.CodeUnavailable, "the database does not answer")
	if out, err := NewRequestHook(f).Run(t.Context(), countApp, countInstance); err == nil {
		t.Errorf("outcome is %+v, want an error: it is not known", out)
	}
}

func TestRequestThatWasMadeBeforeTheAppChanged(t *testing.T) {
	t.Parallel()
	f := newFakeRequests()
	f.byID["r5"] = &proto.Request{ID: "r5", State: proto.StateRunning}
	f.refuse = proto.Errorf(proto.CodeConflict, "the key was used").ForRequest("r5")
	out, err := NewRequestHook(f).Run(t.Context(), countApp, countInstance)
	must(t, err)
	if out.Done || out.WaitsFor != "r5" {
		t.Errorf("outcome is %+v, want the one that was made", out)
	}
}

func TestRequestAfterItsTimeout(t *testing.T) {
	t.Parallel()
	f := newFakeRequests()
	h := NewRequestHook(f)
	app, in := countApp, countInstance
	app.Timeout = proto.Seconds(time.Minute)
	_, err := h.Run(t.Context(), app, in)
	must(t, err)
	in.RequestID = "r1"
	for range 2 { // it is stopped once
		out, err := h.Stop(t.Context(), app, in)
		must(t, err)
		if out.Done || out.WaitsFor != "r1" || len(f.stopped) != 1 {
			t.Fatalf("outcome is %+v, stopped %v", out, f.stopped)
		}
	}
	f.byID["r1"].State = proto.StateStopped
	out, err := h.Stop(t.Context(), app, in)
	must(t, err)
	if !out.Done || out.OK || out.Reason != "timed out: it had 1m0s" {
		t.Errorf("outcome is %+v, want a failure by the timeout", out)
	}
	f.byID["r1"].State = proto.StateComplete // it was faster than the stop
	if out, err = h.Stop(t.Context(), app, in); err != nil || !out.OK {
		t.Errorf("outcome is %+v, %v, want a success", out, err)
	}
}

func TestUndoRequest(t *testing.T) {
	t.Parallel()
	f := newFakeRequests()
	h := NewRequestHook(f)
	in := countInstance
	out, err := h.Undo(t.Context(), countApp, in)
	must(t, err)
	args, err := json.Marshal(f.made[0].Args)
	must(t, err)
	if out.Done || f.made[0].Type != "uncount" || string(args) != `{"instance":"2011-01-02-1300-counter"}` {
		t.Errorf("outcome is %+v, made %s with %s", out, f.made[0].Type, args)
	}
	in.UndoRequestID = out.RequestID
	f.byID[out.RequestID].State = proto.StateFail
	out, err = h.Undo(t.Context(), countApp, in)
	must(t, err)
	if !out.Done || out.OK {
		t.Errorf("outcome is %+v, want an undo that failed", out)
	}
	in.UndoRequestID, in.UndoTries = "", 1
	if out, err = h.Undo(t.Context(), countApp, in); err != nil || out.Done || len(f.made) != 2 {
		t.Errorf("the next try: %+v, %v, %d requests", out, err, len(f.made))
	}
	app := countApp
	app.Undo = ""
	if out, err = h.Undo(t.Context(), app, in); err != nil || !out.Done || !out.OK {
		t.Errorf("without an undo: %+v, %v", out, err)
	}
}

func TestRequestOnAHost(t *testing.T) {
	t.Parallel()
	h := NewRequestHook(newFakeRequests())
	for host, want := range map[string]bool{"": true, "up": true, "away": false} {
		if ok, reason := h.Ready(t.Context(), proto.Instance{Host: host}); ok != want || ok != (reason == "") {
			t.Errorf("host %q: %t, %q", host, ok, reason)
		}
	}
}

func TestRequestsThatSpecsDoNotKnow(t *testing.T) {
	t.Parallel()
	h := NewRequestHook(newFakeRequests())
	for _, tc := range []struct {
		state             proto.InstanceState
		request, undo     string
		requestID, undoID string
		want              string
	}{
		{proto.InstanceQueued, "count", "", "", "", ""},
		{proto.InstanceQueued, "new", "", "", "", "request new"},
		{proto.InstanceRunning, "new", "uncount", "", "", "request new"},
		{proto.InstanceRunning, "new", "uncount", "r1", "", ""}, // it is there: it need not be made
		{proto.InstanceToUndo, "new", "uncount", "", "", ""},
		{proto.InstanceUndoing, "count", "new", "r1", "", "request new"},
		{proto.InstanceUndoing, "count", "new", "r1", "r2", ""},
		{proto.InstanceUndoing, "new", "", "r1", "", ""},
	} {
		in := proto.Instance{State: tc.state, RequestID: tc.requestID, UndoRequestID: tc.undoID}
		if got := h.Unknown(proto.App{Request: tc.request, Undo: tc.undo}, in); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}
