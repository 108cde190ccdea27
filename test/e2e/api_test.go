package e2e_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// gated has a job that waits for a file, so that a test can look while it runs:
//
//	first --> gate --> last
const gated = `
sequences:
  gated:
    request: true
    args:
      required:
        - name: gate_dir
        - name: count
          type: int
      optional:
        - name: note
          desc: "Anything"
          default: "none"
      static:
        - name: channel
          default: "#ops"
    nodes:
      first:
        category: job
        type: shell
        args:
          - expected: count
          - expected: script
            value: echo "{\"next\":$((count + 1))}" >> "$TREADLE_OUTPUT"; echo out; echo err >&2
      gate:
        category: job
        type: shell
        deps: [first]
        args:
          - expected: gate_dir
          - expected: script
            value: |
              while [ ! -e "$gate_dir/open" ]; do sleep 0.05; done
      last:
        category: job
        type: shell
        deps: [gate]
        args:
          - expected: note
          - expected: channel
          - expected: script
            value: echo "$note $channel $next"
`

// open lets the gate of the request with that dir go.
func open(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "open"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// object is a JSON object as a client in another language sees it.
type object = map[string]any

// has fails the test unless the object has all the fields, each of that JSON kind
// ("string", "number", "bool", "list", "object", "null", or several: "string|null").
func has(t *testing.T, what string, o object, fields map[string]string) {
	t.Helper()
	for name, kinds := range fields {
		v, ok := o[name]
		if kind := kindOf(v); !ok || !slices.Contains(strings.Split(kinds, "|"), kind) {
			t.Errorf("%s: %s is a %s, want %s (there: %v); it has %v", what, name, kind, kinds, ok, slices.Sorted(maps.Keys(o)))
		}
	}
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "bool"
	case []any:
		return "list"
	}
	return "object"
}

var (
	requestFields = map[string]string{"id": "string", "type": "string", "state": "number", "user": "string",
		"createdAt": "string", "startedAt": "string|null", "finishedAt": "string|null", "totalJobs": "number", "finishedJobs": "number"}
	requestArgFields = map[string]string{"Pos": "number", "Name": "string", "Desc": "string", "Type": "string", "Given": "bool",
		"Default": "string|null", "Value": "string|number|null"}
	jobFields = map[string]string{"id": "string", "name": "string", "type": "string", "state": "number", "args": "object",
		"data": "object", "retry": "number", "retryWait": "string", "sequenceId": "string"}
	jobLogFields = map[string]string{"requestId": "string", "jobId": "string", "try": "number", "name": "string", "type": "string",
		"startedAt": "number", "finishedAt": "number", "state": "number", "exit": "number", "error": "string", "stdout": "string", "stderr": "string"}
	jobStatusFields = map[string]string{"requestId": "string", "jobId": "string", "type": "string", "name": "string",
		"startedAt": "number", "state": "number", "try": "number"}
	jobChainFields = map[string]string{"requestId": "string", "jobs": "object", "adjacencyList": "object", "state": "number", "finishedJobs": "number"}
)

// From POST to COMPLETE, with everything that a v1 client looks at in between.
func TestRequestFromPostToComplete(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("gated", gated)
		e.StartRM()
		jr := e.StartJR()
		dir := t.TempDir()

		a := e.Do("POST", "/api/v1/requests", object{"Type": "gated", "Args": object{"gate_dir": dir, "count": 41}})
		var created object
		if err := a.Into(&created); err != nil || a.Status != http.StatusCreated {
			t.Fatalf("POST: %d %v", a.Status, err)
		}
		id, _ := created["id"].(string)
		has(t, "created", created, requestFields)
		if got := a.Header.Get("Location"); got != "/api/v1/requests/"+id {
			t.Errorf("Location is %q", got)
		}
		if created["JobChain"] != nil || created["state"] != 1.0 || created["totalJobs"] != 3.0 || created["finishedAt"] != nil {
			t.Errorf("created: %v", created)
		}
		checkArgs(t, created)

		e.WaitRunning(id, "gate", 20*time.Second)
		checkRunning(t, e, id, jr.URL())
		open(t, dir)

		r := e.WaitState(id, proto.StateComplete, 20*time.Second)
		if r.FinishedJobs != 3 || r.FinishedAt == nil || r.StartedAt == nil || r.FinishedAt.Before(*r.StartedAt) || r.StartedAt.Before(r.CreatedAt) {
			t.Errorf("complete: %+v", r)
		}
		checkChain(t, e, id)
		checkLog(t, e, id)
		if s := e.Running(id); len(s.Jobs) != 0 {
			t.Errorf("jobs run after the end: %+v", s.Jobs)
		}
	})
}

func checkArgs(t *testing.T, request object) {
	t.Helper()
	args, _ := request["args"].([]any)
	values := map[string]any{}
	for _, a := range args {
		arg, _ := a.(object)
		has(t, "arg", arg, requestArgFields)
		name, _ := arg["Name"].(string)
		values[name+"/"+arg["Type"].(string)] = arg["Value"]
	}
	delete(values, "gate_dir/required")
	want := map[string]any{"count/required": 41.0, "note/optional": "none", "channel/static": "#ops"}
	if !maps.Equal(values, want) {
		t.Errorf("args are %v, want %v and gate_dir", values, want)
	}
}

// checkRunning looks at a request whose second of three jobs runs.
func checkRunning(t *testing.T, e *e2e.Env, id, runner string) {
	t.Helper()
	var r object
	e.Get("/api/v1/requests/"+id, &r)
	has(t, "running", r, requestFields)
	if r["state"] != 2.0 || r["startedAt"] == nil || r["finishedJobs"] != 1.0 || r["jrURL"] != runner {
		t.Errorf("running: state %v, started %v, finished jobs %v, runner %v (want %s)", r["state"], r["startedAt"], r["finishedJobs"], r["jrURL"], runner)
	}
	var s struct {
		Jobs     []object
		Requests map[string]object
	}
	e.Get("/api/v1/status/running?requestId="+id+"&orderBy=startTime", &s)
	if len(s.Jobs) != 1 || s.Jobs[0]["name"] != "gate" || s.Jobs[0]["state"] != 2.0 || s.Requests[id]["id"] != id {
		t.Fatalf("running status: %+v", s)
	}
	has(t, "job status", s.Jobs[0], jobStatusFields)
	has(t, "request of the running status", s.Requests[id], requestFields)
}

func checkChain(t *testing.T, e *e2e.Env, id string) {
	t.Helper()
	var r, jc object
	e.Get("/api/v1/requests/"+id, &r)
	e.Get("/api/v1/requests/"+id+"/job-chain", &jc)
	within, _ := r["JobChain"].(object)
	for what, c := range map[string]object{"JobChain": within, "job-chain": jc} {
		has(t, what, c, jobChainFields)
		jobs, _ := c["jobs"].(object)
		if len(jobs) != 3 {
			t.Errorf("%s has %d jobs, want 3", what, len(jobs))
		}
		for key, j := range jobs {
			job, _ := j.(object)
			has(t, what+": job", job, jobFields)
			if job["id"] != key || job["state"] != 3.0 {
				t.Errorf("%s: job %s has id %v, state %v", what, key, job["id"], job["state"])
			}
		}
		if edges, _ := c["adjacencyList"].(object); len(edges) != 2 {
			t.Errorf("%s: edges are %v", what, edges)
		}
	}
}

func checkLog(t *testing.T, e *e2e.Env, id string) {
	t.Helper()
	var log []object
	e.Get("/api/v1/requests/"+id+"/log", &log)
	var names []string
	for _, l := range log {
		has(t, "log entry", l, jobLogFields)
		names = append(names, l["name"].(string))
	}
	if !slices.Equal(names, []string{"first", "gate", "last"}) {
		t.Fatalf("the log has %v", names)
	}
	if log[0]["stdout"] != "out\n" || log[0]["stderr"] != "err\n" || log[2]["stdout"] != "none #ops 42\n" {
		t.Errorf("output is %q, %q, %q", log[0]["stdout"], log[0]["stderr"], log[2]["stdout"])
	}
	var last object
	e.Get("/api/v1/requests/"+id+"/log/"+log[2]["jobId"].(string), &last)
	has(t, "entry of one job", last, jobLogFields)
	if last["stdout"] != log[2]["stdout"] {
		t.Errorf("entry of one job: %v", last)
	}
}

// What users can ask for, as `spinc` lists it.
func TestRequestList(t *testing.T) {
	t.Parallel()
	e := e2e.NewEnv(t, "SQLite")
	e.Spec("gated", gated)
	e.StartRM()
	var list []object
	e.Get("/api/v1/request-list", &list)
	if len(list) != 1 || list[0]["Name"] != "gated" {
		t.Fatalf("request list: %v", list)
	}
	args, _ := list[0]["Args"].([]any)
	if len(args) != 3 { // without the static one
		t.Errorf("args: %v", args)
	}
	for _, a := range args {
		has(t, "arg", a.(object), map[string]string{"Pos": "number", "Name": "string", "Desc": "string", "Type": "string"})
	}
}

const quick = `
sequences:
  quick:
    request: true
    args:
      optional:
        - name: tag
          default: "x"
    nodes:
      only:
        category: job
        type: noop
  other:
    request: true
    nodes:
      only:
        category: job
        type: fail
`

// Each filter of the list gives what it says, newest first.
func TestFindRequests(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("quick", quick)
		e.StartRM()
		e.StartJR()
		if a := e.Do("GET", "/api/v1/requests", nil); strings.TrimSpace(string(a.Body)) != "[]" {
			t.Errorf("nothing is listed as %s, want []", a.Body)
		}
		submit := func(requestType string, args object) string {
			want := proto.StateComplete
			if requestType == "other" {
				want = proto.StateFail
			}
			id := e.Submit(requestType, args)
			e.WaitState(id, want, 20*time.Second)
			return id
		}
		a := submit("quick", object{"tag": "100%_a"})
		between := url.QueryEscape(time.Now().UTC().Format(proto.TimeFormat))
		b := submit("quick", nil)
		c := submit("other", nil)
		for query, want := range map[string][]string{
			"":                               {c, b, a},
			"type=quick":                     {b, a},
			"state=FAIL":                     {c},
			"state=FAIL&state=COMPLETE":      {c, b, a},
			"state=RUNNING":                  {},
			"arg=tag%3D100%25_a":             {a},
			"arg=tag%3D100%25%25":            {},
			"arg=tag%3Dx&type=quick":         {b},
			"limit=2":                        {c, b},
			"limit=2&offset=1":               {b, a},
			"since=" + between:               {c, b},
			"until=" + between:               {a},
			"type=quick&state=COMPLETE":      {b, a},
			"user=nobody-of-this-name":       {},
			"type=other&arg=tag%3Dx&limit=5": {},
		} {
			got := []string{}
			for _, r := range e.List(query) {
				got = append(got, r.ID)
				if r.Args != nil || r.JobChain != nil {
					t.Errorf("%q: the list has args or chains", query)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q gives %v, want %v", query, got, want)
			}
		}
	})
}

// The same key and body is the same request, however often it is sent.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("quick", quick)
		e.StartRM()
		post := func(body, key string) e2e.Answer {
			return e.Do("POST", "/api/v1/requests", body, "Idempotency-Key", key)
		}
		var first, again proto.Request
		a := post(`{"Type":"quick","Args":{"tag":"a"}}`, "k1")
		if err := json.Unmarshal(a.Body, &first); err != nil || a.Status != http.StatusCreated {
			t.Fatalf("first: %d %s", a.Status, a.Body)
		}
		a = post(`{"Type":"quick","Args":{"tag":"a"}}`, "k1")
		if err := json.Unmarshal(a.Body, &again); err != nil || a.Status != http.StatusCreated || again.ID != first.ID {
			t.Errorf("again: %d %s, want request %s", a.Status, a.Body, first.ID)
		}
		if a = post(`{"Type":"quick","Args":{"tag":"b"}}`, "k1"); a.Status != http.StatusConflict {
			t.Errorf("other body: %d %s, want 409", a.Status, a.Body)
		}
		if list := e.List(""); len(list) != 1 {
			t.Errorf("%d requests are stored, want 1", len(list))
		}
	})
}

// Without a runner a request waits, and runs as soon as there is one.
func TestNoRunnerThenOne(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("quick", quick)
		e.StartRM()
		id := e.Submit("quick", nil)
		if r := e.Request(id); r.State != proto.StatePending || r.StartedAt != nil {
			t.Fatalf("without a runner: %+v", r)
		}
		e.StartJR()
		e.WaitState(id, proto.StateComplete, 5*time.Second)
	})
}

// A runner that is full refuses; the request is PENDING again and runs once there
// is room.
func TestRunnerRefuses(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("gated", gated)
		e.Spec("quick", quick)
		e.StartRM("TREADLE_RUNNER_RETRY_WAIT=200ms", "TREADLE_RUNNER_TRIES=1000")
		e.StartJR("TREADLE_CAPACITY=1")
		dir := t.TempDir()
		held := e.Submit("gated", object{"gate_dir": dir, "count": 1})
		e.WaitRunning(held, "gate", 20*time.Second)
		waits := e.Submit("quick", nil)
		e.WaitState(waits, proto.StatePending, 5*time.Second)
		open(t, dir)
		e.WaitState(held, proto.StateComplete, 20*time.Second)
		e.WaitState(waits, proto.StateComplete, 20*time.Second)
		if n := e2e.Count(e.Log(waits), "only", proto.StateComplete); n != 1 {
			t.Errorf("the job ran %d times, want once", n)
		}
	})
}
