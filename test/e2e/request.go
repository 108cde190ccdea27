package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Submit asks for a request and returns its id.
func (e *Env) Submit(requestType string, args map[string]any) string {
	e.t.Helper()
	a := e.Do(http.MethodPost, "/api/v1/requests", map[string]any{"Type": requestType, "Args": args})
	if a.Status != http.StatusCreated {
		e.t.Fatalf("POST of %s: %d %s", requestType, a.Status, a.Body)
	}
	var r proto.Request
	if err := a.Into(&r); err != nil {
		e.t.Fatal(err)
	}
	return r.ID
}

// Request returns the request with its job chain.
func (e *Env) Request(id string) proto.Request {
	e.t.Helper()
	var r proto.Request
	e.Get("/api/v1/requests/"+id, &r)
	return r
}

// List returns the requests that match the query ("state=RUNNING&type=deploy").
func (e *Env) List(query string) []proto.Request {
	e.t.Helper()
	var list []proto.Request
	e.Get("/api/v1/requests?"+query, &list)
	return list
}

// Log returns the job log, oldest entry first.
func (e *Env) Log(id string) []proto.JobLog {
	e.t.Helper()
	var entries []proto.JobLog
	e.Get("/api/v1/requests/"+id+"/log", &entries)
	return entries
}

// Running returns what runs now; of one request if id is not "".
func (e *Env) Running(id string) proto.RunningStatus {
	e.t.Helper()
	var s proto.RunningStatus
	path := "/api/v1/status/running"
	if id != "" {
		path += "?requestId=" + id
	}
	e.Get(path, &s)
	return s
}

// Stop asks for the end of the request; it must be accepted.
func (e *Env) Stop(id string) {
	e.t.Helper()
	if a := e.Do(http.MethodPut, "/api/v1/requests/"+id+"/stop", nil); a.Status != http.StatusOK {
		e.t.Fatalf("stop of %s: %d %s", id, a.Status, a.Body)
	}
}

// WaitState waits until the request has the state, and fails the test at once
// when it can never have it any more. It returns the request with its chain.
func (e *Env) WaitState(id string, want proto.State, timeout time.Duration) proto.Request {
	e.t.Helper()
	var r proto.Request
	Eventually(e.t, timeout, fmt.Sprintf("request %s is %s", id, want), func() bool {
		e.t.Helper()
		r = e.Request(id)
		if r.State != want && r.State.Final() {
			e.t.Fatalf("request %s (%s) is %s, not %s: %s\n%s", id, r.Type, r.State, want, r.Reason, e.LogText(id))
		}
		return r.State == want
	})
	return r
}

// WaitStates is WaitState for many requests at a time.
func (e *Env) WaitStates(ids []string, want proto.State, timeout time.Duration) {
	e.t.Helper()
	left := map[string]bool{}
	for _, id := range ids {
		left[id] = true
	}
	Eventually(e.t, timeout, fmt.Sprintf("%d requests are %s", len(ids), want), func() bool {
		e.t.Helper()
		for _, r := range e.List("") {
			if !left[r.ID] {
				continue
			}
			if r.State == want {
				delete(left, r.ID)
			} else if r.State.Final() {
				e.t.Fatalf("request %s (%s) is %s, not %s: %s\n%s", r.ID, r.Type, r.State, want, r.Reason, e.LogText(r.ID))
			}
		}
		return len(left) == 0
	})
}

// WaitRunning waits until a job with the name runs, and returns its status.
func (e *Env) WaitRunning(id, jobName string, timeout time.Duration) proto.JobStatus {
	e.t.Helper()
	var found proto.JobStatus
	Eventually(e.t, timeout, fmt.Sprintf("job %s of %s runs", jobName, id), func() bool {
		e.t.Helper()
		for _, j := range e.Running(id).Jobs {
			if j.Name == jobName {
				found = j
				return true
			}
		}
		if r := e.Request(id); r.State.Final() {
			e.t.Fatalf("request %s is %s, and %s did not run: %s\n%s", id, r.State, jobName, r.Reason, e.LogText(id))
		}
		return false
	})
	return found
}

// WaitLogged waits until the job log has n entries of jobs with the name in the
// state.
func (e *Env) WaitLogged(id, jobName string, state proto.State, n int, timeout time.Duration) {
	e.t.Helper()
	Eventually(e.t, timeout, fmt.Sprintf("%d tries of %s of %s are %s", n, jobName, id, state), func() bool {
		e.t.Helper()
		return Count(e.Log(id), jobName, state) >= n
	})
}

// Count counts the entries of jobs with the name ("" for all) in the state.
func Count(entries []proto.JobLog, jobName string, state proto.State) int {
	n := 0
	for _, l := range entries {
		if (jobName == "" || l.Name == jobName) && l.State == state {
			n++
		}
	}
	return n
}

// LogText returns the job log to be read by people.
func (e *Env) LogText(id string) string {
	e.t.Helper()
	var b strings.Builder
	for _, l := range e.Log(id) {
		fmt.Fprintf(&b, "  %3d %-24s try %d %-8s exit %d %s\n", l.Seq, l.JobID, l.Try, l.State, l.Exit, l.Error)
		for _, out := range []string{l.Stdout, l.Stderr} {
			if out = strings.TrimSpace(out); out != "" {
				fmt.Fprintf(&b, "      | %s\n", strings.ReplaceAll(out, "\n", "\n      | "))
			}
		}
	}
	return b.String()
}
