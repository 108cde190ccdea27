package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

func dial(t *testing.T, cfg Config, f fake) *client.Client {
	t.Helper()
	c := client.New(client.Config{URL: serve(t, cfg, f), Secret: cfg.Secret, User: "bob"})
	t.Cleanup(c.Close)
	return c
}

// forCaller is what a caller sees of a fixture: with a chain, and without the list
// of its secrets.
func forCaller(r proto.Request) proto.Request {
	r.JobChain = someChain()
	r.JobChain.Secrets = nil
	r.JobChain.Jobs["a"].Data = proto.Values{}
	return r
}

// TestClientGetsWhatTheManagerSaid goes through each call of a user.
func TestClientGetsWhatTheManagerSaid(t *testing.T) {
	t.Parallel()
	m := &fakeManager{}
	c := dial(t, Config{}, m)
	ctx := t.Context()
	filter := proto.RequestFilter{
		Type: "deploy", User: "ann", States: []proto.State{proto.StateRunning, proto.StateFail}, Args: map[string]string{"a b": "x&y=z"},
		Since: created, Until: started, Limit: 50, Offset: 100,
	}
	listed := someRequest()
	listed.Args = nil
	for _, tc := range []struct {
		name string
		do   func() (any, error)
		want any
		args []any // that the manager got
	}{
		{"get", func() (any, error) { return c.GetRequest(ctx, someID) }, forCaller(someRequest()), []any{someID}},
		{"find", func() (any, error) { return c.FindRequests(ctx, filter) }, []proto.Request{listed}, []any{filter}},
		{"log", func() (any, error) { return c.JobLog(ctx, someID) }, []proto.JobLog{someEntry()}, []any{someID}},
		{"stop", func() (any, error) { return nil, c.StopRequest(ctx, someID) }, nil, []any{"stop", someID}},
		{"drain", func() (any, error) { return nil, c.Drain(ctx, "a/b c", true) }, nil, []any{"a/b c", true}},
	} {
		got, err := tc.do()
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if tc.args != nil {
			if diff := cmp.Diff(tc.args, m.last()); diff != "" {
				t.Errorf("%s: the manager got (-want +got):\n%s", tc.name, diff)
			}
		}
	}
	if running, err := c.Running(ctx, someID, "startTime"); err != nil || len(running.Jobs) != 1 || running.Requests[someID].User != "ann" {
		t.Errorf("running: %+v, %v", running, err)
	}
	if specs, err := c.RequestList(ctx); err != nil || len(specs) != 2 || specs[1].Args[0].Name != "n" {
		t.Errorf("request list: %+v, %v", specs, err)
	}
	if runners, err := c.Runners(ctx); err != nil || len(runners) != 1 || runners[0].PID != 7 {
		t.Errorf("runners: %+v, %v", runners, err)
	}
}

func TestClientCreates(t *testing.T) {
	t.Parallel()
	m := &fakeManager{}
	c := dial(t, Config{}, m)
	create := proto.CreateRequest{Type: "deploy", Args: proto.Values{"n": int64(1) << 60, "f": 2.0}}
	r, err := c.CreateRequest(t.Context(), create, "k-1")
	if err != nil || r.ID != someID || r.State != proto.StatePending {
		t.Fatalf("got %+v, %v", r, err)
	}
	if diff := cmp.Diff([]any{create, "bob", "k-1"}, m.last()); diff != "" {
		t.Errorf("the manager got (-want +got):\n%s", diff)
	}
}

// TestReportsArrive goes through each call of a runner.
func TestReportsArrive(t *testing.T) {
	t.Parallel()
	m := &fakeManager{}
	c := dial(t, Config{Secret: "s3"}, m)
	ctx := t.Context()
	chain := forCaller(someRequest()).JobChain
	chain.Secrets = []string{"tiger"} // a runner's chain keeps them
	sjc := &proto.SuspendedJobChain{RequestID: someID, JobChain: chain, TotalJobTries: map[string]uint{"a": 2}, Entries: 2}
	report := proto.Report{RunnerID: "r1", Items: []proto.ReportItem{{RequestID: someID, Epoch: 3, Entries: []proto.JobLog{someEntry()}, Suspended: sjc}}}
	beat := proto.Runner{ID: "r1", URL: "http://x", Labels: map[string]string{"zone": "b"}, Running: []proto.RunningChain{{RequestID: someID, Epoch: 3}}}
	for name, tc := range map[string]struct {
		do   func() error
		args []any
	}{
		"report": {func() error { _, err := c.Report(ctx, report); return err }, []any{report}},
		"beat":   {func() error { _, err := c.Heartbeat(ctx, beat); return err }, []any{beat}},
	} {
		if err := tc.do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.args, m.last()); diff != "" {
			t.Errorf("%s: the manager got (-want +got):\n%s", name, diff)
		}
	}
	answer, err := c.Report(ctx, report)
	if err != nil || len(answer.Refused) != 1 || answer.Refused[0].Epoch != 2 {
		t.Errorf("report: %+v, %v", answer, err)
	}
	lease, err := c.Heartbeat(ctx, beat)
	if err != nil || lease.Lease != proto.Duration(time.Minute) || !lease.Drain {
		t.Errorf("heartbeat: %+v, %v", lease, err)
	}
}

// TestCallsOfOtherClientsArrive goes through the calls of the v1 API that the client
// of this module does not make.
func TestCallsOfOtherClientsArrive(t *testing.T) {
	t.Parallel()
	const epoch = uint64(1<<63 - 1)
	of := "/api/v1/requests/" + someID
	finish := proto.Finish{RequestID: someID, State: proto.StateFail, FinishedAt: created, FinishedJobs: 2}
	progress := proto.Progress{RequestID: someID, FinishedJobs: 2}
	chain := forCaller(someRequest()).JobChain
	chain.Secrets = []string{"tiger"}
	sjc := &proto.SuspendedJobChain{RequestID: someID, JobChain: chain, TotalJobTries: map[string]uint{"a": 2}, Entries: 2}
	for name, tc := range map[string]struct {
		method, path string
		body         any
		args         []any // that the manager got
	}{
		"chain":    {"GET", of + "/job-chain", nil, []any{someID}},
		"last log": {"GET", of + "/log/a~b", nil, []any{someID, "a~b"}},
		"start":    {"PUT", of + "/start", nil, []any{"start", someID}},
		"ready":    {"GET", "/readyz", nil, nil},
		"finish":   {"PUT", of + "/finish", finish, []any{epoch, finish}},
		"progress": {"PUT", of + "/progress", progress, []any{epoch, progress}},
		"log":      {"POST", of + "/log", someEntry(), []any{epoch, someEntry()}},
		"suspend":  {"PUT", of + "/suspend", sjc, []any{epoch, sjc}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := ""
			if tc.body != nil {
				b, err := json.Marshal(tc.body)
				if err != nil {
					t.Fatal(err)
				}
				body = string(b)
			}
			m := &fakeManager{}
			w := call(t, Config{}, m, tc.method, tc.path, body, fmt.Sprintf("Treadle-Epoch: %d", epoch))
			if w.Code != 200 && w.Code != 201 {
				t.Errorf("answered %d: %s", w.Code, w.Body)
			}
			if diff := cmp.Diff(tc.args, m.last()); diff != "" {
				t.Errorf("the manager got (-want +got):\n%s", diff)
			}
		})
	}
}

// TestErrorsCrossTheWire holds that a caller sees the error that the manager
// returned, and of an unknown one nothing.
func TestErrorsCrossTheWire(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want *proto.Error
	}{
		"conflict": {proto.Errorf(proto.CodeConflict, "is FAIL"), &proto.Error{Code: proto.CodeConflict, Message: "is FAIL", RequestID: someID}},
		"422": {
			&proto.Error{Code: proto.CodeUnprocessable, Message: "node x", Err: errors.New("hidden")},
			&proto.Error{Code: proto.CodeUnprocessable, Message: "node x", RequestID: someID},
		},
		"403":      {proto.Errorf(proto.CodeForbidden, "no"), &proto.Error{Code: proto.CodeForbidden, Message: "no", RequestID: someID}},
		"internal": {errors.New("hidden"), &proto.Error{Code: proto.CodeInternal, Message: "internal error", RequestID: someID}},
		"503": {
			&proto.Error{Code: proto.CodeUnavailable, Message: "unavailable", RetryAfter: 3 * time.Second},
			&proto.Error{Code: proto.CodeUnavailable, Message: "unavailable", RequestID: someID, RetryAfter: 3 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, Config{}, &fakeManager{err: tc.err})
			got, _ := errors.AsType[*proto.Error](c.StopRequest(t.Context(), someID))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestClientWithoutTheSecretIsRefused(t *testing.T) {
	t.Parallel()
	c := client.New(client.Config{URL: serve(t, Config{Secret: "s3"}, &fakeManager{})})
	defer c.Close()
	if _, err := c.Report(t.Context(), proto.Report{}); proto.ErrorCode(err) != proto.CodeUnauthorized {
		t.Errorf("got %v", err)
	}
}

// TestWatch watches a request that goes on each time the watcher has seen it.
func TestWatch(t *testing.T) {
	t.Parallel()
	r := &watched{state: proto.StatePending, changed: make(chan struct{}, 1)}
	c := dial(t, Config{}, r)
	next := map[proto.State]proto.State{proto.StatePending: proto.StateRunning, proto.StateRunning: proto.StateComplete}
	var seen []proto.State
	err := c.Watch(t.Context(), someID, func(req proto.Request) error {
		seen = append(seen, req.State)
		if s, ok := next[req.State]; ok {
			r.set(s, nil)
			r.changed <- struct{}{}
		}
		return nil
	})
	want := []proto.State{proto.StatePending, proto.StateRunning, proto.StateComplete}
	if diff := cmp.Diff(want, seen); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestWatchGoesOnAfterTheServiceEndedItsStream(t *testing.T) {
	t.Parallel()
	closing := make(chan struct{})
	var once sync.Once
	r := &watched{state: proto.StateRunning, changed: make(chan struct{})}
	c := dial(t, Config{Closing: closing}, r)
	var seen []proto.State
	err := c.Watch(t.Context(), someID, func(req proto.Request) error {
		seen = append(seen, req.State)
		r.set(proto.StateFail, nil) // nobody tells the stream
		once.Do(func() { close(closing) })
		return nil
	})
	want := []proto.State{proto.StateRunning, proto.StateFail}
	if diff := cmp.Diff(want, seen); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestWatchEndsWithItsCallbackAndItsContext(t *testing.T) {
	t.Parallel()
	r := &watched{state: proto.StateRunning, changed: make(chan struct{})}
	c := dial(t, Config{}, r)
	enough := errors.New("enough")
	if err := c.Watch(t.Context(), someID, func(proto.Request) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Watch(ctx, someID, func(proto.Request) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := c.Watch(t.Context(), "abc", nil); proto.ErrorCode(err) != proto.CodeNotFound {
		t.Errorf("got %v", err)
	}
}
