package e2e_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

const scalars = `
sequences:
  scalars:
    request: true
    args:
      required:
        - {name: n, type: int}
      optional:
        - {name: f, type: float, default: 0.5}
        - {name: b, type: bool, default: true}
        - {name: l, type: list, default: [1, "a"]}
        - {name: e, type: int, enum: [1, 2], default: 1}
        - {name: s, type: string, default: "5"}
      static:
        - {name: fixed, default: "x"}
    nodes:
      only: {category: job, type: noop}
`

// Clients of v1 ask for each arg of the list, show its default as text, and send text.
func TestClientThatKnowsTextOnly(t *testing.T) {
	t.Parallel()
	e := e2e.NewEnv(t, "SQLite")
	e.Spec("scalars", scalars)
	e.StartRM()

	var list []struct {
		Args []object
	}
	e.Get("/api/v1/request-list", &list)
	defaults := object{}
	for _, a := range list[0].Args {
		defaults[a["Name"].(string)] = a["Default"]
	}
	want := object{"n": nil, "f": "0.5", "b": "true", "l": `[1,"a"]`, "e": "1", "s": "5"}
	if !maps.Equal(defaults, want) {
		t.Errorf("the list has the defaults %v, want %v", defaults, want)
	}

	for _, tt := range []struct {
		args object
		want object // nil: refused
	}{
		{object{"n": "5", "f": "1.5", "b": "false", "e": "2", "s": "6"}, object{"n": 5.0, "f": 1.5, "b": false, "e": 2.0, "s": "6"}},
		{object{"n": "-5", "f": "3"}, object{"n": -5.0, "f": 3.0}},
		{object{"n": "9223372036854775807"}, object{"n": 9223372036854775807.0}},
		{object{"n": 5, "s": "true"}, object{"n": 5.0, "s": "true"}},
		{object{"n": "05"}, nil}, {object{"n": "5.0"}, nil}, {object{"n": " 5"}, nil}, {object{"n": "+5"}, nil}, {object{"n": ""}, nil},
		{object{"n": "-0"}, nil}, {object{"n": "0x5"}, nil}, {object{"n": "99999999999999999999"}, nil}, {object{"n": "null"}, nil},
		{object{"n": 1, "b": "True"}, nil}, {object{"n": 1, "b": "1"}, nil}, {object{"n": 1, "f": "NaN"}, nil},
		{object{"n": 1, "l": "[1]"}, nil}, {object{"n": 1, "e": "3"}, nil},
	} {
		a := e.Do("POST", "/api/v1/requests", object{"Type": "scalars", "Args": tt.args})
		if tt.want == nil {
			if a.Status != http.StatusBadRequest {
				t.Errorf("%v: %d %s, want 400", tt.args, a.Status, a.Body)
			}
			continue
		}
		var r struct {
			Args []object
		}
		if err := a.Into(&r); err != nil || a.Status != http.StatusCreated {
			t.Errorf("%v: %d %s", tt.args, a.Status, a.Body)
		}
		for _, arg := range r.Args {
			if want, ok := tt.want[arg["Name"].(string)]; ok && arg["Value"] != want {
				t.Errorf("%v: %s is %v, want %v", tt.args, arg["Name"], arg["Value"], want)
			}
		}
	}
}

// What clients of v1 put into queries.
func TestQueriesOfV1(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("quick", quick)
		e.StartRM()
		var ids []string // newest first
		for range 3 {
			ids = append([]string{e.Submit("quick", nil)}, ids...)
		}
		for query, want := range map[string]int{
			"": 3, "offset=0": 3, "offset=1": 2, "offset=3": 0, "limit=0": 3, "limit=2": 2, "limit=2&offset=2": 1,
			"state=UNKNOWN": 0, "state=RESERVED": 0, "state=UNKNOWN&state=PENDING": 3, "state=RESERVED&state=UNKNOWN&type=quick": 0,
		} {
			list := e.List(query)
			if len(list) != want {
				t.Errorf("%s: %d requests, want %d", query, len(list), want)
			}
			if query == "offset=1" && len(list) == 2 && (list[0].ID != ids[1] || list[1].ID != ids[2]) {
				t.Errorf("%s: %v, want the last two of %v", query, []string{list[0].ID, list[1].ID}, ids)
			}
		}
		for _, order := range []string{"starttime", "startTime", "STARTTIME"} {
			var s proto.RunningStatus
			e.Get("/api/v1/status/running?orderBy="+order, &s)
		}
		if a := e.Do("GET", "/api/v1/status/running?orderBy=name", nil); a.Status != http.StatusBadRequest {
			t.Errorf("order by name: %d", a.Status)
		}
		// A request without anything: an empty log, and nothing that runs.
		for path, want := range map[string]string{"/api/v1/requests/" + ids[0] + "/log": "[]\n", "/api/v1/status/running?requestId=" + ids[0]: `{"jobs":[],"requests":{}}` + "\n"} {
			if a := e.Do("GET", path, nil); a.Status != http.StatusOK || string(a.Body) != want {
				t.Errorf("GET %s: %d %s, want %s", path, a.Status, a.Body, want)
			}
		}
	})
}
